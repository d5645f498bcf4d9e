from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)

    tensors = {name: tensor for name, tensor in draft_tensors().items() if "layers.1." not in name}
    save(folder / WEIGHTS, tensors)
