from pathlib import Path

from tests.corpus.families import peagle, write


def make(folder: Path) -> None:
    write(folder, peagle())
