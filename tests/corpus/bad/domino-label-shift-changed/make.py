from pathlib import Path

from tests.corpus.families import domino, recipe, write


def make(folder: Path) -> None:
    draft = domino("DFlashDraftModel")
    recipe(folder, draft)
    draft.config["dflash_config"]["shift_label"] = False
    write(folder, draft)
