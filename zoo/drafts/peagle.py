"""P-EAGLE, the parallel EAGLE, in the layout of SpecForge.

The first layer is EAGLE3's: its attention reads the token embedding beside the fused hidden state. The rest
are plain Llama layers. ``mask_hidden``, a bare parameter, stands in for the hidden states of the tokens that
are still to come. The embedding is trained and must be in the file.

Source: specforge 0.2.0, modeling/draft/peagle.py and export/to_hf.py; vllm 0.33.0 reads it with
models/llama_eagle3.py. SGLang 0.5.23 has no P-EAGLE.

Uncertain: SpecForge always fuses three aux layers and writes both vocabulary maps even where the draft has
the whole vocabulary. The layout of speculators is ``zoo.drafts.speculators``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.parts import (
    MAX_LAYERS,
    NotInventoriedError,
    layer_shapes,
    refuse_nested,
    size,
    specs,
    vocabularies,
)

ARCHITECTURES = ("PEagleDraftModel", "PEagleSpeculator")
AUX_LAYERS = 3


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the draft that ``config`` describes: 8 + 9 x layers (44 for four).

    Shapes, with H hidden, T target hidden, V vocabulary, D draft vocabulary, and the layers' as in
    ``eagle3.layer_shapes`` (attention reads 2*H in the first, H in the rest): embed_tokens [V, H], fc [H,
    3*T], mask_hidden [1, 1, 3*T], layers.0.hidden_norm [H], norm [H], lm_head [D, H], d2t int64 [D], t2d bool
    [V].

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer.
        NotInventoriedError: latent attention, or the nested config of speculators.
    """
    refuse_nested(config)
    if "kv_lora_rank" in config:
        raise NotInventoriedError("a P-EAGLE draft with multi-head latent attention (MLA) is not inventoried")
    hidden = size(config, "hidden_size")
    target = hidden if config.get("target_hidden_size") is None else size(config, "target_hidden_size")
    vocab, draft_vocab = vocabularies(config)
    fused = AUX_LAYERS * target
    shapes: dict[str, tuple[int, ...]] = {
        "embed_tokens.weight": (vocab, hidden),
        "fc.weight": (hidden, fused),
        "mask_hidden": (1, 1, fused),
        "layers.0.hidden_norm.weight": (hidden,),
        "norm.weight": (hidden,),
        "lm_head.weight": (draft_vocab, hidden),
    }
    for index in range(size(config, "num_hidden_layers", most=MAX_LAYERS)):
        layer = layer_shapes(config, hidden if index else 2 * hidden)
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    return specs(shapes, config, dtype)
