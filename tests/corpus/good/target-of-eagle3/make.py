from pathlib import Path

from tests.corpus.beside import target
from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    write(folder, eagle3())
    target(folder)
