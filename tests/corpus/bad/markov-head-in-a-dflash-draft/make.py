from pathlib import Path

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder)
    good_recipe(folder)
    heads = {f"markov_head.markov_w{number}.weight": ("BF16", (256, 4), bytes(2048)) for number in (1, 2)}
    save(folder / WEIGHTS, draft_tensors() | heads)
