from pathlib import Path

import numpy as np

from tests.corpus.kit import WEIGHTS, bf16, draft_tensors, good_draft, save


def make(folder: Path) -> None:
    good_draft(folder, attention_bias=True)
    tensors = draft_tensors()
    for layer in range(2):
        for name, size in {"q": 64, "k": 32, "v": 32, "o": 64}.items():
            tensors[f"layers.{layer}.self_attn.{name}_proj.bias"] = ("BF16", (size,), bf16(np.arange(size)))
    save(folder / WEIGHTS, tensors)
