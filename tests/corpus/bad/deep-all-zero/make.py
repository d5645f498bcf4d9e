from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    tensors = draft_tensors()
    dtype, shape, data = tensors["layers.0.mlp.up_proj.weight"]
    tensors["layers.0.mlp.up_proj.weight"] = (dtype, shape, bytes(len(data)))
    save(folder / WEIGHTS, tensors)
