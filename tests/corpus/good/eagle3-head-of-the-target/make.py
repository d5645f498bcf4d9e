from dataclasses import replace
from pathlib import Path

from tests.corpus.families import VOCAB, eagle3, recipe, write

NOT_ITS_OWN = ("lm_head.weight", "d2t", "t2d")


def make(folder: Path) -> None:
    draft = eagle3(VOCAB)
    config = draft.config | {"draft_vocab_size": None}
    kept = {name: tensor for name, tensor in draft.tensors.items() if name not in NOT_ITS_OWN}
    draft = replace(draft, config=config, tensors=kept)
    write(folder, draft)
    recipe(folder, draft)
