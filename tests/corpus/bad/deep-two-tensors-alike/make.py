from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    tensors = draft_tensors()
    tensors["layers.1.mlp.up_proj.weight"] = tensors["layers.0.mlp.up_proj.weight"]
    save(folder / WEIGHTS, tensors)
