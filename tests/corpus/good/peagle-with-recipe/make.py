from pathlib import Path

from tests.corpus.families import peagle, recipe, write


def make(folder: Path) -> None:
    draft = peagle()
    write(folder, draft)
    recipe(folder, draft)
