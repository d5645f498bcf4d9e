from pathlib import Path

from tests.corpus.families import peagle, write


def make(folder: Path) -> None:
    draft = peagle()
    del draft.tensors["mask_hidden"]
    write(folder, draft)
