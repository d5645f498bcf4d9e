from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe, no_caveats


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    no_caveats(folder)
