from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "caf\u00e9.txt").write_text("")
    (folder / "cafe\u0301.txt").write_text("")
