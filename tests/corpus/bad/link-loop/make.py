from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
