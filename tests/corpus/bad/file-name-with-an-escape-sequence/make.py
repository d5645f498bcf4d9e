from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "\x1b[2Jnotes.txt").write_text("")
