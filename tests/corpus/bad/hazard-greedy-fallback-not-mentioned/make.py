from pathlib import Path

from tests.corpus.kit import good_draft, good_recipe, on


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    on(folder, "MI300X")
