from pathlib import Path

from tests.corpus.kit import caveat, good_draft, good_recipe, yarn


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    yarn(folder)
    caveat(folder, "E001")
