from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    tensors = draft_tensors()
    dtype, shape, data = tensors["fc.weight"]
    tensors["fc.weight"] = (dtype, shape, b"\x80\x3f" * (len(data) // 2))
    save(folder / WEIGHTS, tensors)
