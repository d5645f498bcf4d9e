from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft, write_raw


def make(folder: Path) -> None:
    good_draft(folder)
    write_raw(folder / WEIGHTS, "[" * 200_000)
