from pathlib import Path

from tests.corpus.families import Draft, eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    tensors = {f"draft_model.{name}": tensor for name, tensor in draft.tensors.items()}
    write(folder, Draft("eagle3", draft.config, tensors))
