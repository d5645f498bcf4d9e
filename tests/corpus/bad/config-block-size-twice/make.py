from pathlib import Path

from tests.corpus.kit import edit_dflash, good_draft, good_recipe


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    edit_dflash(folder, block_size=16)
