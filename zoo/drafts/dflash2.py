"""DFlash2: DFlash with grouped dynamic convolutions around attention and MLP, and a candidate selector.

The base is DFlash to the byte. The two additions are independent, and each is described by a pair of keys
in ``dflash_config``: ``conv_kernel_size`` and ``conv_group_size``, ``selector_rank`` and ``selector_top_k``.
A config with neither pair describes plain DFlash. Embedding and head are the target's.

Sources: the published safetensors header of z-lab/dflash (tests/fixtures, 81 tensors) agrees with this
inventory to the byte; sglang 0.5.23, models/dflash.py (DFlashGroupedConv, CandidateSelector) and
speculative/dflash_utils.py; dflash 0.1.0, model.py. SGLang 0.5.14 has no DFlash2.

Uncertain: the codebooks have no ``.weight`` in published files and in SGLang, but have one inside dflash
0.1.0, which renames them when it loads. SGLang reads the four keys only from ``dflash_config``, dflash 0.1.0
also from the top level; so does this file. Variants with multi-head latent attention are not inventoried:
none of the engines and packages that were read has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory, dflash
from zoo.drafts.parts import extend, head_keys, size

ARCHITECTURES = ("DFlash2DraftModel", "DFlash2BeamDraftModel", "MiniMaxDFlash2DraftModel")


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the draft that ``config`` describes: 6 + 15 x layers with convolutions and selector.

    Shapes beyond DFlash, with H hidden, V vocabulary, t taps, g group size, r rank: per layer and for each of
    attention_conv and mlp_conv, base_kernel [2, t, H] and kernel_projection [2*t*H/g, H]; in
    candidate_selector both codebooks [V, r] and hidden_projection [r, H].

    Raises:
        KeyError: a dimension, or one key of a pair, is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer, or the group size does not divide H.
        NotInventoriedError: latent attention, or the nested config of speculators.
    """
    base = dflash.inventory(config, dtype)
    (hidden,) = base["norm.weight"].shape
    keys = head_keys(config)
    shapes: dict[str, tuple[int, ...]] = {}
    if keys.get("conv_kernel_size") or keys.get("conv_group_size"):
        taps, group = size(keys, "conv_kernel_size"), size(keys, "conv_group_size")
        if hidden % group:
            raise TypeError(f"conv_group_size {group} does not divide hidden_size {hidden}")
        for layer in (name.split(".")[1] for name in base if name.endswith(".input_layernorm.weight")):
            for conv in (f"layers.{layer}.attention_conv", f"layers.{layer}.mlp_conv"):
                shapes[f"{conv}.base_kernel"] = (2, taps, hidden)
                shapes[f"{conv}.kernel_projection.weight"] = (2 * taps * hidden // group, hidden)
    if keys.get("selector_rank") or keys.get("selector_top_k"):
        rank, vocab = size(keys, "selector_rank"), size(config, "vocab_size")
        size(keys, "selector_top_k")
        shapes["candidate_selector.predecessor_codebook"] = (vocab, rank)
        shapes["candidate_selector.successor_codebook"] = (vocab, rank)
        shapes["candidate_selector.hidden_projection.weight"] = (rank, hidden)
    return extend(base, shapes, dtype)
