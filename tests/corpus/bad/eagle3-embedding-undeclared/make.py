from pathlib import Path

from tests.corpus.families import eagle3, recipe, write


def make(folder: Path) -> None:
    draft = eagle3()
    recipe(folder, draft)
    write(folder, eagle3(embed=True))
