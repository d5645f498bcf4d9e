from pathlib import Path

from tests.corpus.kit import caveat, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    caveat(folder, "E002")
