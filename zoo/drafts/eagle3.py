"""EAGLE3 and EAGLE3.1 in the flat layout that SGLang and vLLM read.

An autoregressive draft: ``fc`` fuses the target's hidden states after a few aux layers; the first layer takes
that beside the token embedding, so its attention reads 2 x hidden. The draft has a head of its own over a
reduced vocabulary; ``d2t`` (int64 offsets) and ``t2d`` (bool) map it to the target's. The embedding is the
target's: a file may carry it, SGLang replaces it.

Sources: specforge 0.2.0, modeling/draft/llama3_eagle.py and export/to_sglang.py; sglang 0.5.14 and 0.5.23,
models/llama_eagle3.py (``norm_before_fc`` only in 0.5.23) and models/kimi_k25_eagle3.py, run with 0.5.14
(docs/inventories.md); vllm 0.33.0, models/llama_eagle3.py, qwen3_eagle3.py and deepseek_eagle3.py. Neither
engine says what it misses.

Uncertain: ModelOpt and speculators write ``layers.0.`` for ``midlayer.``, which SGLang and vLLM read as well,
and ModelOpt no ``t2d``, which no engine reads; :func:`spelled_as` allows both. Attention biases of Llama
layers are read by no implementation. SGLang reads ``bias`` and ``num_aux_hidden_states``, SpecForge has no
bias and always three aux layers. Of latent attention (MLA) and of more than one layer no public writer of
this layout was found, only what the two engines read: in a layer after the first SGLang norms with
``hidden_norm`` and vLLM with ``input_layernorm``, so only the first is demanded. A latent draft without
``q_lora_rank`` is refused by SGLang. The layout of speculators is ``zoo.drafts.speculators``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.parts import (
    MAX_LAYERS,
    attention_sizes,
    latent_layer_shapes,
    layer_shapes,
    names_one_of,
    refuse_nested,
    size,
    specs,
    vocabularies,
)

MLA_ARCHITECTURES = ("Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM")
QWEN_ARCHITECTURES = ("Eagle3Qwen3ForCausalLM",)
ARCHITECTURES = (
    "LlamaForCausalLMEagle3",
    "Eagle3LlamaForCausalLM",
    *QWEN_ARCHITECTURES,
    *MLA_ARCHITECTURES,
    "Eagle3Speculator",
    "Eagle3DraftModel",
)


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor that a file of this config must have: 15, and one ``fc_norm`` per aux layer for EAGLE3.1.

    12 to 14 where :func:`optional` names more than the embedding; 18 with latent attention (MLA); 9 more per
    layer after the first. Shapes, with H hidden, T target hidden, K aux layers, V vocabulary, D draft
    vocabulary, and the layer's as in :func:`layer_shapes` or :func:`latent_layer_shapes`: fc [H, K*T], norm
    [H], lm_head [D, H], hidden_norm [H], fc_norm.0 to fc_norm.K-1 [T], input_norm [K*T] with
    ``norm_before_fc``, fc.bias [H] with ``bias``, d2t int64 [D], t2d bool [V].

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer.
        NotInventoriedError: the nested config of speculators, or a latent dimension left to a default.
    """
    tensors, extra = _all(config, dtype), _may_lack(config)
    return {name: spec for name, spec in tensors.items() if not extra(name)}


def optional(config: Mapping[str, Any], dtype: str) -> Inventory:
    """What a file of this config may have besides, in these shapes and no others.

    Always embed_tokens [V, H], and the ``input_layernorm`` of a layer after the first. d2t and t2d where the
    draft has the whole vocabulary (SpecForge writes them, others do not). lm_head where the config states no
    ``draft_vocab_size`` or ties the embeddings: SGLang then takes the target's.

    Raises:
        KeyError, TypeError, NotInventoriedError: as :func:`inventory`.
    """
    tensors, extra = _all(config, dtype), _may_lack(config)
    return {name: spec for name, spec in tensors.items() if extra(name)}


def spelled_as(names: Collection[str], tensors: Inventory) -> Inventory:
    """``tensors`` as the file ``names`` spells them: with ``layers.0.`` for ``midlayer.`` where most of that
    layer has it, for SGLang and vLLM read both. Such a file need not have ``t2d``: ModelOpt writes none."""
    if not any(name.startswith("midlayer.") for name in tensors):
        return tensors
    one, other = (
        sum(name.startswith(each) or f".{each}" in name for name in names)  # also under a prefix, I005's
        for each in ("midlayer.", "layers.0.")
    )
    if one >= other:
        return tensors
    spelled = {re.sub(r"^midlayer\.", "layers.0.", name): spec for name, spec in tensors.items()}
    has_t2d = any(name == "t2d" or name.endswith(".t2d") for name in names)
    return {name: spec for name, spec in spelled.items() if name != "t2d" or has_t2d}


def aux_layers(config: Mapping[str, Any]) -> int:
    """K, in the order in which the engines look: a number, the list of the layers (at the top level only
    SGLang's latent drafts look for it), 3."""
    if config.get("num_aux_hidden_states") is not None:
        return size(config, "num_aux_hidden_states", most=MAX_LAYERS)
    key, eagle = "eagle_aux_hidden_state_layer_ids", config.get("eagle_config")
    ids = (eagle.get(key) if isinstance(eagle, Mapping) else None) or config.get(key)
    if not ids:
        return 3
    if not isinstance(ids, list) or len(ids) > MAX_LAYERS:
        raise TypeError(f"{key} is not a list of at most {MAX_LAYERS:,}")
    return len(ids)


def fusion_shapes(config: Mapping[str, Any], target: int) -> dict[str, tuple[int, ...]]:
    """What turns the states of K aux layers, ``target`` wide each, into one of the draft's: fc and norms."""
    hidden, fused = size(config, "hidden_size"), aux_layers(config) * target
    shapes: dict[str, tuple[int, ...]] = {"fc.weight": (hidden, fused)}
    eagle_config = config.get("eagle_config")
    eagle: Mapping[str, Any] = eagle_config if isinstance(eagle_config, Mapping) else {}
    if eagle.get("norm_before_fc", config.get("norm_before_fc")):
        shapes["input_norm.weight"] = (fused,)
    if config.get("fc_norm") or config.get("use_aux_norm"):
        shapes |= {f"fc_norm.{index}.weight": (target,) for index in range(fused // target)}
    if config.get("bias"):
        shapes["fc.bias"] = (hidden,)
    return shapes


def _all(config: Mapping[str, Any], dtype: str) -> Inventory:
    refuse_nested(config)
    hidden = size(config, "hidden_size")
    target = hidden if config.get("target_hidden_size") is None else size(config, "target_hidden_size")
    vocab, draft_vocab = vocabularies(config)
    shapes = fusion_shapes(config, target) | {"norm.weight": (hidden,)}
    shapes |= {"lm_head.weight": (draft_vocab, hidden), "embed_tokens.weight": (vocab, hidden)}
    layers = size(config, "num_hidden_layers", most=MAX_LAYERS)
    for index in range(layers):
        layer = {"hidden_norm.weight": (hidden,)} | _layer(config, hidden if index else 2 * hidden)
        prefix = "midlayer" if layers == 1 else f"layers.{index}"
        shapes |= {f"{prefix}.{name}": shape for name, shape in layer.items()}
    return specs(shapes, config, dtype)


def _layer(config: Mapping[str, Any], width: int) -> dict[str, tuple[int, ...]]:
    if names_one_of(config, MLA_ARCHITECTURES) or "kv_lora_rank" in config:
        return latent_layer_shapes(config, width)
    shapes = layer_shapes(config, width)
    if config.get("attention_bias") or config.get("bias"):
        # SGLang builds this one bias and no other, and does not miss it (docs/loader.md).
        shapes["self_attn.o_proj.bias"] = (size(config, "hidden_size"),)
    if names_one_of(config, QWEN_ARCHITECTURES):
        shapes |= query_norm_shapes(config)
    return shapes


def query_norm_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The norms of a Qwen3 layer's query and key: [head dim] each."""
    _, q, _ = attention_sizes(config)
    head_dim = (q // size(config, "num_attention_heads"),)
    return {"self_attn.q_norm.weight": head_dim, "self_attn.k_norm.weight": head_dim}


def _may_lack(config: Mapping[str, Any]) -> Callable[[str], bool]:
    vocab, draft_vocab = vocabularies(config)
    borrows_head = config.get("draft_vocab_size") is None or config.get("tie_word_embeddings") is True
    names = {"lm_head.weight"} if borrows_head else set()
    # The target's table fits only where the draft is as wide as the target (docs/loader.md).
    if config.get("target_hidden_size") in (None, config.get("hidden_size")):
        names.add("embed_tokens.weight")
    names |= {"d2t", "t2d"} if draft_vocab == vocab else set()
    return lambda name: name in names or re.match(r"layers\.[1-9]\d*\.input_layernorm\.", name) is not None
