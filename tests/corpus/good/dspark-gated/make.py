from pathlib import Path

from tests.corpus.families import dspark, write


def make(folder: Path) -> None:
    write(folder, dspark("gated", at_the_top=True))
