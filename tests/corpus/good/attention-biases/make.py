from pathlib import Path

import numpy as np

from tests.corpus.kit import WEIGHTS, bf16, draft_tensors, edit_recipe, good_draft, good_recipe, save


def make(folder: Path) -> None:
    good_draft(folder, attention_bias=True)
    good_recipe(folder)
    edit_recipe(folder, "attention_bias: false", "attention_bias: true")
    edit_recipe(folder, "tensors: 25", "tensors: 33")
    tensors = draft_tensors()
    for layer in range(2):
        for name, size in {"q": 64, "k": 32, "v": 32, "o": 64}.items():
            tensors[f"layers.{layer}.self_attn.{name}_proj.bias"] = ("BF16", (size,), bf16(np.arange(size)))
    save(folder / WEIGHTS, tensors)
