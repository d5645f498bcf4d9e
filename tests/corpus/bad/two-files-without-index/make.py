from pathlib import Path

from tests.corpus.kit import good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    save(folder / "extra.safetensors", {"x.weight": ("U8", (1,), bytes(1))})
