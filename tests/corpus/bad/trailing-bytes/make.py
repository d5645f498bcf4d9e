from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes() + b"PK\x05\x06" + bytes(18))
