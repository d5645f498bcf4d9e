from pathlib import Path

from tests.corpus.beside import target
from tests.corpus.kit import edit_dflash, good_draft


def make(folder: Path) -> None:
    good_draft(folder)
    edit_dflash(folder, mask_token_id=7, mask_token="<|mask|>")
    target(folder)
