from pathlib import Path

from tests.corpus.families import Draft, eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    tensors = {name.replace("midlayer.", "layer."): tensor for name, tensor in draft.tensors.items()}
    write(folder, Draft("eagle3", draft.config, tensors))
