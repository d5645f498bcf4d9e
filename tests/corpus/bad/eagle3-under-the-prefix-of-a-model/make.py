from pathlib import Path

from tests.corpus.families import Draft, eagle3, write


def make(folder: Path) -> None:
    draft = eagle3(layer="layers.0")
    tensors = {
        f"model.{name}" if name.startswith("layers.") else name: tensor
        for name, tensor in draft.tensors.items()
    }
    write(folder, Draft("eagle3", draft.config, tensors))
