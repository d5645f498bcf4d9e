"""Domino: DFlash with a GRU over the drafted prefix that corrects the logits.

The base is DFlash to the byte; embedding and head are the target's. ``dflash_config.projector_type`` is
``domino``. SpecForge names the architecture DominoDraftModel; SGLang knows no such name and wants it
rewritten to DFlashDraftModel, so the keys decide.

Sources: specforge 0.2.0, modeling/draft/domino.py; sglang 0.5.23, models/dflash.py, which demands all four
tensors and their shapes, and refuses them without the projector type. SGLang 0.5.14 has no Domino.

Uncertain: the number of tensors equals that of a DSpark draft with a vanilla Markov and a confidence head;
only the names tell the two apart. SGLang refuses a config whose two values of ``emb_dim`` differ; here the
one in ``dflash_config`` wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory, dflash
from zoo.drafts.parts import extend, head_keys, size

ARCHITECTURES = ("DominoDraftModel",)


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the draft that ``config`` describes: 7 + 11 x layers.

    Shapes beyond DFlash, with H hidden, V vocabulary, G ``gru_hidden_dim``, e ``emb_dim``:
    prefix_gru.weight_ih_l0 [3*G, H] and weight_hh_l0 [3*G, G]; embed_proj.0 [e, H+G] and embed_proj.2 [V, e].

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer.
        NotInventoriedError: latent attention, or the nested config of speculators.
    """
    base = dflash.inventory(config, dtype)
    (hidden,) = base["norm.weight"].shape
    keys = head_keys(config)
    gru, narrow, vocab = size(keys, "gru_hidden_dim"), size(keys, "emb_dim"), size(config, "vocab_size")
    shapes: dict[str, tuple[int, ...]] = {
        "prefix_gru.weight_ih_l0": (3 * gru, hidden),
        "prefix_gru.weight_hh_l0": (3 * gru, gru),
        "embed_proj.0.weight": (narrow, hidden + gru),
        "embed_proj.2.weight": (vocab, narrow),
    }
    return extend(base, shapes, dtype)
