from pathlib import Path

from tests.corpus.kit import sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder)
