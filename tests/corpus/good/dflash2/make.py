from pathlib import Path

from tests.corpus.families import dflash2, write


def make(folder: Path) -> None:
    write(folder, dflash2())
