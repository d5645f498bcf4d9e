"""EAGLE3 and EAGLE3.1 with one Llama layer, in the layout of SpecForge, which SGLang reads.

An autoregressive draft: ``fc`` fuses the target's hidden states after a few aux layers; the one layer takes
that beside the token embedding, so its attention reads 2 x hidden. The draft has a head of its own over a
reduced vocabulary; ``d2t`` (int64 offsets) and ``t2d`` (bool) map it to the target's. The embedding is the
target's: a file may carry it, SGLang replaces it.

Sources: specforge 0.2.0, modeling/draft/llama3_eagle.py and export/to_sglang.py; sglang 0.5.14 and 0.5.23,
models/llama_eagle3.py (``norm_before_fc`` only in 0.5.23). Neither says what it misses or does not know.

Uncertain: ModelOpt and speculators write ``layers.0.`` for ``midlayer.``, which SGLang reads as well, and
ModelOpt no ``t2d``; no engine reads it, but the exporter of this layout demands it. Attention biases are read
by no implementation. SGLang 0.5.14 and 0.5.23 read ``bias`` and ``num_aux_hidden_states``, SpecForge has no
bias and always three aux layers. Not inventoried: latent attention (Eagle3DeepseekV2ForCausalLM; SGLang's
models/kimi_k25_eagle3.py shows what it reads, no public writer was found), more than one layer, speculators.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.parts import MAX_LAYERS, NotInventoriedError, layer_shapes, size, specs, vocabularies

MLA_ARCHITECTURES = ("Eagle3DeepseekV2ForCausalLM",)
ARCHITECTURES = ("LlamaForCausalLMEagle3", *MLA_ARCHITECTURES, "Eagle3Speculator", "Eagle3DraftModel")


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor that a file of this config must have: 15, and one ``fc_norm`` per aux layer for EAGLE3.1.

    12 to 14 where :func:`optional` names more than the embedding. Shapes, with H hidden, T target hidden, K
    aux layers, V vocabulary, D draft vocabulary, and the layer's as in :func:`layer_shapes`: fc [H, K*T],
    norm [H], lm_head [D, H], fc_norm.0 to fc_norm.K-1 [T], input_norm [K*T] with ``norm_before_fc``, fc.bias
    [H] with ``bias``, d2t int64 [D], t2d bool [V].

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer.
        NotInventoriedError: latent attention, more than one layer, or the nested config of speculators.
    """
    tensors, extra = _all(config, dtype), _may_lack(config)
    return {name: spec for name, spec in tensors.items() if name not in extra}


def optional(config: Mapping[str, Any], dtype: str) -> Inventory:
    """What a file of this config may have besides, in these shapes and no others.

    Always embed_tokens [V, H]. d2t and t2d where the draft has the whole vocabulary (SpecForge writes them,
    others do not). lm_head where the config states no ``draft_vocab_size`` or ties the embeddings: SGLang
    then takes the target's.

    Raises:
        KeyError, TypeError, NotInventoriedError: as :func:`inventory`.
    """
    tensors, extra = _all(config, dtype), _may_lack(config)
    return {name: spec for name, spec in tensors.items() if name in extra}


def spelled_as(names: Collection[str], tensors: Inventory) -> Inventory:
    """``tensors`` with ``layers.0.`` for ``midlayer.`` where the file ``names`` its one layer so: SGLang
    reads both spellings; vLLM, ModelOpt and speculators write ``layers.0.``."""
    if not any(name.startswith("layers.0.") for name in names):
        return tensors
    return {re.sub(r"^midlayer\.", "layers.0.", name): spec for name, spec in tensors.items()}


def _all(config: Mapping[str, Any], dtype: str) -> Inventory:
    _refuse_variants(config)
    hidden, aux = size(config, "hidden_size"), _aux_layers(config)
    target = hidden if config.get("target_hidden_size") is None else size(config, "target_hidden_size")
    vocab, draft_vocab = vocabularies(config)
    layer = {"hidden_norm.weight": (hidden,)} | layer_shapes(config, 2 * hidden)
    shapes: dict[str, tuple[int, ...]] = {f"midlayer.{name}": shape for name, shape in layer.items()}
    shapes |= {"fc.weight": (hidden, aux * target), "norm.weight": (hidden,)}
    shapes |= {"lm_head.weight": (draft_vocab, hidden), "embed_tokens.weight": (vocab, hidden)}
    eagle_config = config.get("eagle_config")
    eagle: Mapping[str, Any] = eagle_config if isinstance(eagle_config, Mapping) else {}
    if eagle.get("norm_before_fc", config.get("norm_before_fc")):
        shapes["input_norm.weight"] = (aux * target,)
    if config.get("fc_norm") or config.get("use_aux_norm"):
        shapes |= {f"fc_norm.{index}.weight": (target,) for index in range(aux)}
    if config.get("bias"):
        shapes["fc.bias"] = (hidden,)
    return specs(shapes, config, dtype)


def _may_lack(config: Mapping[str, Any]) -> frozenset[str]:
    vocab, draft_vocab = vocabularies(config)
    borrows_head = config.get("draft_vocab_size") is None or config.get("tie_word_embeddings") is True
    maps = ["d2t", "t2d"] if draft_vocab == vocab else []
    return frozenset(["embed_tokens.weight", *maps, *(["lm_head.weight"] if borrows_head else [])])


def _aux_layers(config: Mapping[str, Any]) -> int:
    """K, in the order in which SGLang looks: a number, the list of the layers, 3."""
    if config.get("num_aux_hidden_states") is not None:
        return size(config, "num_aux_hidden_states", most=MAX_LAYERS)
    eagle = config.get("eagle_config")
    ids = eagle.get("eagle_aux_hidden_state_layer_ids") if isinstance(eagle, Mapping) else None
    if not ids:
        return 3
    if not isinstance(ids, list) or len(ids) > MAX_LAYERS:
        raise TypeError(f"eagle_aux_hidden_state_layer_ids is not a list of at most {MAX_LAYERS:,}")
    return len(ids)


def _refuse_variants(config: Mapping[str, Any]) -> None:
    architectures = config.get("architectures")
    latent = isinstance(architectures, list) and any(name in MLA_ARCHITECTURES for name in architectures)
    if latent or "kv_lora_rank" in config:
        raise NotInventoriedError("an EAGLE3 draft with multi-head latent attention (MLA) is not inventoried")
    if "transformer_layer_config" in config or "speculators_model_type" in config:
        raise NotInventoriedError("the nested config of speculators is not inventoried")
    if size(config, "num_hidden_layers") != 1:
        raise NotInventoriedError("an EAGLE3 draft of more than one layer is not inventoried")
