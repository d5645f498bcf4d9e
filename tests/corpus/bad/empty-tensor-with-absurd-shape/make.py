from pathlib import Path

from tests.corpus.kit import edit_header, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    edit_header(
        folder, lambda header: header.update(x={"dtype": "U8", "shape": [0, 2**63], "data_offsets": [0, 0]})
    )
