from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    write(folder, eagle3())
