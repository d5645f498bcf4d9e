from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)

    tensors = draft_tensors() | {"embed_tokens.weight": ("BF16", (256, 64), bytes(256 * 64 * 2))}
    save(folder / WEIGHTS, tensors)
