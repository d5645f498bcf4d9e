from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "config.json").write_text("version https://git-lfs.github.com/spec/v1\nsize 900\n")
