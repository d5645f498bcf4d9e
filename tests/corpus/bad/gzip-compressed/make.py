import gzip
from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / WEIGHTS).write_bytes(gzip.compress((folder / WEIGHTS).read_bytes(), mtime=0))
