from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft, write_raw


def make(folder: Path) -> None:
    good_draft(folder)
    entry = {"dtype": "BF16", "shape": [4], "data_offsets": [8, 16]}
    write_raw(folder / WEIGHTS, {"norm.weight": entry}, bytes(16))
