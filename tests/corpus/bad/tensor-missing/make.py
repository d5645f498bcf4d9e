from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)

    tensors = draft_tensors()
    del tensors["layers.1.mlp.down_proj.weight"]
    save(folder / WEIGHTS, tensors)
