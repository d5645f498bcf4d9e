from pathlib import Path

from tests.corpus.beside import target
from tests.corpus.kit import edit_recipe, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    target(folder)
    edit_recipe(folder, "repo: example/big", "repo: ./target", "recipes/targets/big.yaml")
