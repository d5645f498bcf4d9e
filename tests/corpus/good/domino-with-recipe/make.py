from pathlib import Path

from tests.corpus.families import domino, recipe, write


def make(folder: Path) -> None:
    draft = domino("DFlashDraftModel")
    write(folder, draft)
    recipe(folder, draft)
