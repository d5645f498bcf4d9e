from pathlib import Path

from tests.corpus.kit import edit_header_text, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    edit_header_text(
        folder,
        '"fc.weight":{"dtype":"BF16","shape":[64,192],"data_offsets":[0,24576]}',
        '"fc.weight":{"dtype":"F16","shape":[64,192],"data_offsets":[0,24576]},"fc.weight":{"dtype":"BF16","shape":[64,192],"data_offsets":[0,24576]}',
    )
