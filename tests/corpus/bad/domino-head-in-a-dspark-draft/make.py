from pathlib import Path

from tests.corpus.families import Draft, domino, dspark, write


def make(folder: Path) -> None:
    write(folder, Draft("dspark", dspark(at_the_top=True).config, domino().tensors))
