from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    del draft.tensors["lm_head.weight"]
    write(folder, draft)
