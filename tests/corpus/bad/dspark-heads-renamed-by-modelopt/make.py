from pathlib import Path

from tests.corpus.families import Draft, dspark, write


def make(folder: Path) -> None:
    draft = dspark(at_the_top=True)
    tensors = {name.replace("markov_head.", ""): tensor for name, tensor in draft.tensors.items()}
    write(folder, Draft("dspark", draft.config, tensors))
