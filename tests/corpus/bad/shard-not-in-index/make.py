from pathlib import Path

from tests.corpus.kit import save, sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder)
    save(folder / "extra.safetensors", {"x.weight": ("U8", (1,), bytes(1))})
