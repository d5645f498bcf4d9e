from pathlib import Path

import numpy as np

from tests.corpus.kit import WEIGHTS, bf16, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder)
    tensors = draft_tensors()
    tensors["norm.weight"] = ("BF16", (64,), bf16(np.linspace(3000, 9000, 64)))
    save(folder / WEIGHTS, tensors)
