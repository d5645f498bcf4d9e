from pathlib import Path

from tests.corpus.families import dflash2, recipe, write


def make(folder: Path) -> None:
    draft = dflash2()
    write(folder, draft)
    recipe(folder, draft)
