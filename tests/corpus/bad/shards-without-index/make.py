from pathlib import Path

from tests.corpus.kit import INDEX, sharded_draft


def make(folder: Path) -> None:
    sharded_draft(folder)
    (folder / INDEX).unlink()
