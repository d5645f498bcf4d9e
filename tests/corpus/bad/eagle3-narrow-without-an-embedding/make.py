from pathlib import Path

import numpy as np

from tests.corpus.families import eagle3, write
from tests.corpus.kit import bf16


def make(folder: Path) -> None:
    draft = eagle3()
    draft.config["target_hidden_size"] = 128
    fused = np.random.default_rng(2).normal(0, 0.02, (64, 384))
    draft.tensors["fc.weight"] = ("BF16", (64, 384), bf16(fused))
    write(folder, draft)
