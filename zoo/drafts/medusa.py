"""Medusa: heads beside the target's own, each for one token further ahead; no attention, no layers.

A head is a few residual blocks (a linear layer with a bias, SiLU) and a projection to the vocabulary, and its
tensors have numbers for names: ``{head}.{block}``.

Sources: FasterDecoding/Medusa#76 and InternLM/lmdeploy#1180, as reported there. No code was read: SGLang
0.5.14 and 0.5.23 have no Medusa, and vLLM 0.33.0 has it no more.

Uncertain: everything. The first published configs (vicuna 13b, 33b) lack ``medusa_num_heads`` and
``medusa_num_layers``, and none states the dimensions, which are the target's. Files are often
``medusa_lm_head.pt``, which is a pickle and is not read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.parts import NotInventoriedError, extend, names_one_of, size

ARCHITECTURES = ("MedusaModel",)
# Far above any draft: published ones have 2 to 5 heads of one block.
_MOST = 64


def describes(config: Mapping[str, Any]) -> bool:
    """Whether the config has a key of Medusa's own, or its name."""
    if config.get("model_type") == "medusa" or names_one_of(config, ARCHITECTURES):
        return True
    return config.get("medusa_num_heads") is not None or config.get("medusa_num_layers") is not None


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the heads that ``config`` describes: heads x (2 x blocks + 1); 15 for five heads of one
    block.

    Shapes, with H hidden, V vocabulary: {head}.{block}.linear [H, H] and its bias [H], {head}.{blocks} [V,
    H].

    Raises:
        KeyError: the number of heads or blocks is not stated.
        TypeError: a dimension is not a sensible integer.
        NotInventoriedError: the config leaves H or V to the target.
    """
    heads = size(config, "medusa_num_heads", most=_MOST)
    blocks = size(config, "medusa_num_layers", most=_MOST)
    if config.get("hidden_size") is None or config.get("vocab_size") is None:
        raise NotInventoriedError(
            "the Medusa heads are not inventoried: their config leaves hidden_size and vocab_size to the "
            f"target; expect {heads * (2 * blocks + 1)} tensors, named 0.0.linear.weight and so on"
        )
    hidden, vocab = size(config, "hidden_size"), size(config, "vocab_size")
    shapes: dict[str, tuple[int, ...]] = {}
    for head in range(heads):
        for block in range(blocks):
            shapes[f"{head}.{block}.linear.weight"] = (hidden, hidden)
            shapes[f"{head}.{block}.linear.bias"] = (hidden,)
        shapes[f"{head}.{blocks}.weight"] = (vocab, hidden)
    return extend({}, shapes, dtype)
