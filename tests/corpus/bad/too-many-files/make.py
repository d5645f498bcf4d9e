import os
from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    for number in range(10_001):
        os.close(os.open(folder / f"z{number}.txt", os.O_CREAT))
