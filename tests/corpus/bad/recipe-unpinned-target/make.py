from pathlib import Path

from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_recipe(
        folder,
        "revision: 0123456789abcdef0123456789abcdef01234567",
        "revision: main",
        "recipes/targets/big.yaml",
    )
