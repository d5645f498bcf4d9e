from pathlib import Path

from tests.corpus.families import eagle3, write


def make(folder: Path) -> None:
    draft = eagle3()
    draft.tensors["layers.0.hidden_norm.weight"] = draft.tensors["midlayer.hidden_norm.weight"]
    write(folder, draft)
