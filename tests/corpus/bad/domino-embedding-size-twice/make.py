from pathlib import Path

from tests.corpus.families import domino, write


def make(folder: Path) -> None:
    draft = domino("DFlashDraftModel")
    draft.config["emb_dim"] = 12
    write(folder, draft)
