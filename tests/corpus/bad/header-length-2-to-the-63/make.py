from pathlib import Path

from tests.corpus.kit import WEIGHTS, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / WEIGHTS).write_bytes((2**63).to_bytes(8, "little") + b"\xff" * 64)
