import pickle
from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "notes.dat").write_bytes(pickle.dumps({"a": 1}))
