from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "README.md").write_text("# Draft")
    (folder / "docs").mkdir()
    (folder / "docs" / "report.txt").write_text("words")
