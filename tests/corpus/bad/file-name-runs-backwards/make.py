from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "notes\u202efdp.txt").write_text("")
