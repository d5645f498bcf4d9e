from pathlib import Path

from tests.corpus.kit import edit_header, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    edit_header(folder, lambda header: header["__metadata__"].update(step=383))
