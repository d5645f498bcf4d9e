from dataclasses import replace
from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    config = draft.config | {"tie_word_embeddings": True}
    kept = {name: tensor for name, tensor in draft.tensors.items() if name != "lm_head.weight"}
    write(folder, replace(draft, config=config, tensors=kept))
