from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    save(folder / "consolidated.safetensors", {"x.weight": ("BF16", (1,), bytes(2))})
