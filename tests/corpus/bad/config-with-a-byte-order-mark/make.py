from pathlib import Path

from tests.corpus.kit import good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    (folder / "config.json").write_text('{"block_size": 8}', "utf-8-sig")
