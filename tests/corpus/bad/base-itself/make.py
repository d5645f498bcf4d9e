from pathlib import Path

from tests.corpus.kit import base_beside, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    base_beside(folder)
