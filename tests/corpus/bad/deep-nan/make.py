from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    tensors = draft_tensors()
    dtype, shape, data = tensors["fc.weight"]
    tensors["fc.weight"] = (dtype, shape, data[:-2] + b"\xc0\x7f")
    save(folder / WEIGHTS, tensors)
