from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)

    tensors = {name: ("F16", shape, data) for name, (_, shape, data) in draft_tensors().items()}
    save(folder / WEIGHTS, tensors)
