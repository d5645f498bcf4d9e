from pathlib import Path

from tests.corpus.beside import target
from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    target(folder)
