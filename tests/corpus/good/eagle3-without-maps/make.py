from pathlib import Path

from tests.corpus.families import VOCAB, eagle3, write


def make(folder: Path) -> None:
    draft = eagle3(VOCAB)
    del draft.tensors["d2t"], draft.tensors["t2d"]
    write(folder, draft)
