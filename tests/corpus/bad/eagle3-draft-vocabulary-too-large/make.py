from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["draft_vocab_size"] = 512
    for name, (dtype, shape, data) in draft.tensors.items():
        if name in ("lm_head.weight", "d2t"):
            draft.tensors[name] = (dtype, (512, *shape[1:]), data * 4)
    write(folder, draft)
