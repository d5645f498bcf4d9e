"""DFlash in the layout of z-lab, which SGLang, vLLM, ModelOpt and SpecForge read.

A block-diffusion draft: it reads the target's hidden states after a few aux layers, fuses them with ``fc``,
and fills a whole block of mask tokens in one forward pass. Embedding and head are the target's. Qwen3-style
layers.

Two layouts of the same have other names: Laguna norms each aux layer and gates its attention, and the
assistant drafts call the fusion layer ``encoder``. Sliding windows need no tensors.

Sources: sglang 0.5.14 and 0.5.23, models/dflash.py and speculative/dflash_utils.py
(parse_dflash_draft_config, is_nemotron_35_draft_config); vllm 0.33.0, models/qwen3_dflash.py and
laguna_dflash.py. The published safetensors headers of z-lab/dflash (tests/fixtures) agree with this inventory
to the byte; that of a published Laguna draft was reported with as many parameters as here.

Uncertain: the dtype of ``attention_sink_bias`` (SGLang holds it in float32 for Nemotron), and whether a
Laguna file has q, k and v fused into ``qkv_proj``, as the converter of speculators expects (SGLang reads
both). SGLang reads ``has_embed_tokens`` only of quantized Nemotron drafts, whose packed weights are not
inventoried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import HEADER_DTYPE, Inventory, TensorSpec
from zoo.drafts.keys import DIFFUSION
from zoo.drafts.parts import (
    MAX_LAYERS,
    NotInventoriedError,
    attention_sizes,
    layer_shapes,
    names_one_of,
    refuse_variants,
    size,
)

LAGUNA_ARCHITECTURES = ("DFlashLagunaForCausalLM",)
ASSISTANT_ARCHITECTURES = ("MuseGlimmerAssistantModel", "DFlashMuseGlimmerAssistantModel")
ARCHITECTURES = (
    "DFlashDraftModel",
    *LAGUNA_ARCHITECTURES,
    *ASSISTANT_ARCHITECTURES,
    "DFlashSpeculator",
)
ASSISTANT_NAMES = {"fc.weight": "encoder.fc.weight", "hidden_norm.weight": "encoder.output_norm_enc.weight"}


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the draft that ``config`` describes: 3 + 11 x layers (15 x layers with attention
    biases).

    Shapes, with H hidden, A attention heads, G KV heads, D head dim, I intermediate, K aux layers: fc [H,
    K*H]; per layer q [A*D, H], k and v [G*D, H], o [H, A*D], gate and up [I, H], down [H, I]; norms [H],
    q_norm and k_norm [D]. Laguna adds aux_hidden_norms.0 to K-1 [H] and per layer g_proj [A, H], or [A*D, H]
    with ``gating`` per element; ``attention_sink_bias`` a bare parameter [A] per layer; ``has_embed_tokens``
    embed_tokens [V, H].

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer, or ``gating`` no value that an engine knows.
        NotInventoriedError: latent attention, quantized weights with an own embedding, heads that differ
            between the layers, or the nested config of speculators.
    """
    refuse_variants(config)
    stated = {key: places[0].value for key, places in DIFFUSION.stated(config).items()}
    hidden, q, kv = attention_sizes(stated)
    heads, ids = size(stated, "num_attention_heads"), stated["target_layer_ids"]
    if not isinstance(ids, list) or len(ids) > MAX_LAYERS:
        raise TypeError(f"target_layer_ids is not a list of at most {MAX_LAYERS:,}")
    norm: tuple[int, ...] = (hidden,)
    layer = layer_shapes(stated, hidden)
    layer |= {f"self_attn.{name}_norm.weight": (q // heads,) for name in "qk"}
    if stated.get("attention_bias") is True:
        biases: dict[str, tuple[int, ...]] = {"q": (q,), "k": (kv,), "v": (kv,), "o": norm}
        layer |= {f"self_attn.{name}_proj.bias": shape for name, shape in biases.items()}
    if stated.get("dflash_config.attention_sink_bias") is True:
        layer["self_attn.attention_sink_bias"] = (heads,)
    shapes = {"fc.weight": (hidden, len(ids) * hidden), "hidden_norm.weight": norm, "norm.weight": norm}
    if names_one_of(config, LAGUNA_ARCHITECTURES):
        layer |= _gate(config, heads, q)
        shapes |= {f"aux_hidden_norms.{index}.weight": norm for index in range(len(ids))}
    if names_one_of(config, ASSISTANT_ARCHITECTURES):
        shapes = {ASSISTANT_NAMES.get(name, name): shape for name, shape in shapes.items()}
    if config.get("has_embed_tokens") is True:
        shapes["embed_tokens.weight"] = (_unquantized_vocabulary(config), hidden)
    for index in range(size(stated, "num_hidden_layers", most=MAX_LAYERS)):
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    return {name: TensorSpec(HEADER_DTYPE[dtype], shape) for name, shape in sorted(shapes.items())}


def _gate(config: Mapping[str, Any], heads: int, q: int) -> dict[str, tuple[int, ...]]:
    """Laguna's gate on the output of the attention. SGLang takes an absent ``gating`` as per head."""
    per_layer = config.get("num_attention_heads_per_layer")
    if isinstance(per_layer, list) and any(count != heads for count in per_layer):
        raise NotInventoriedError("a Laguna draft whose layers differ in heads is not inventoried")
    match config.get("gating", True):
        case True | "per-head":
            rows = heads
        case "per-element":
            rows = q
        case False | None | "disabled":
            return {}
        case _:
            raise TypeError("gating is not true, false, null, per-head, per-element or disabled")
    return {"self_attn.g_proj.weight": (rows, size(config, "hidden_size"))}


def _unquantized_vocabulary(config: Mapping[str, Any]) -> int:
    if config.get("quantization_config") is not None:
        raise NotInventoriedError("a quantized draft with an embedding of its own is not inventoried")
    return size(config, "vocab_size")
