from pathlib import Path

from tests.corpus.kit import WEIGHTS, base_beside, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    base_beside(folder)
    tensors = draft_tensors() | {"extra.weight": ("BF16", (1,), bytes(2))}
    save(folder.parent / "base" / WEIGHTS, tensors)
