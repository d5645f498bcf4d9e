from pathlib import Path

from tests.corpus.families import VOCAB, eagle3, write


def make(folder: Path) -> None:
    draft = eagle3(VOCAB)
    for name in ("lm_head.weight", "d2t", "t2d"):
        del draft.tensors[name]
    del draft.config["draft_vocab_size"]
    write(folder, draft)
