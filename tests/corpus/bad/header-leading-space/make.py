from pathlib import Path

from tests.corpus.kit import edit_header_text, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    edit_header_text(folder, '{"__metadata__"', ' {"__metadata__"')
