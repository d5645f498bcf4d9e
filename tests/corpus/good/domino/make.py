from pathlib import Path

from tests.corpus.families import domino, write


def make(folder: Path) -> None:
    write(folder, domino("DFlashDraftModel"))
