from pathlib import Path

from tests.corpus.families import domino, write


def make(folder: Path) -> None:
    draft = domino("DFlashDraftModel")
    del draft.tensors["prefix_gru.weight_hh_l0"]
    write(folder, draft)
