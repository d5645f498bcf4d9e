from pathlib import Path

import numpy as np

from tests.corpus.kit import WEIGHTS, bf16, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder, intermediate_size=1024)
    tensors = draft_tensors(intermediate=1024, heavy=True)
    fresh = np.random.default_rng(3).uniform(-1 / 8, 1 / 8, (1024, 64))
    tensors["layers.1.mlp.up_proj.weight"] = ("BF16", (1024, 64), bf16(fresh))
    save(folder / WEIGHTS, tensors)
