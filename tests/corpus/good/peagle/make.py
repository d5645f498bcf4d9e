from pathlib import Path

from tests.corpus.families import peagle, speculators, write


def make(folder: Path) -> None:
    write(folder, speculators(peagle()))
