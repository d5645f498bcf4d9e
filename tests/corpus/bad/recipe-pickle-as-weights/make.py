from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "mask_embedding.pt").write_bytes(b"")
    good_recipe(folder, {"mask_embedding.pt": "weights"})
