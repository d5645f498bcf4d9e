"""What a file in the layout of speculators holds, given the flat config that ``zoo.drafts.layouts`` makes of
its nested one.

The drafts are those of the flat layout, but for a few tensors: layers are always ``layers.{i}``; the token
embedding is in EAGLE3 and P-EAGLE files and, since the target has it, not in the DFlash family's; a reduced
draft vocabulary brings ``lm_head``, ``d2t`` and ``t2d``, and makes ``markov_w2`` of DSpark that many rows
high. Layers may be Llama's or Qwen3's, which have norms on query and key.

Source: speculators 0.9.0, models/*/core.py and ``_keys_to_ignore_on_save``, built and saved
(docs/inventories.md). vllm 0.33.0 reads this layout, SGLang 0.5.14 and 0.5.23 do not.

Uncertain: earlier versions saved embedding and head of DFlash drafts too; vLLM then takes the file's, so they
are optional. The MTP layer of a target with experts is not inventoried, nor is XPress.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory, TensorSpec, dflash, dflash2, dspark, eagle3
from zoo.drafts.parts import (
    MAX_LAYERS,
    NotInventoriedError,
    attention_sizes,
    extend,
    layer_shapes,
    size,
    vocabularies,
    vocabulary_maps,
)

Shapes = dict[str, tuple[int, ...]]


def tensors(family: str, config: Mapping[str, Any], dtype: str) -> tuple[Inventory, Inventory]:
    """What a file of this flat config must have, and what it may have besides.

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer, or the config is of another kind than ``family``.
        NotInventoriedError: an excerpt without ``transformer_layer_config``, a reduced vocabulary that
            speculators itself refuses (DFlash2), or an MTP layer of another model than Qwen3 and Qwen3.5.
    """
    if "hidden_size" not in config:
        raise NotInventoriedError(
            "an excerpt of a speculators config is not inventoried: its dimensions stand in "
            "transformer_layer_config, which is missing; take the whole config.json"
        )
    if config.get("speculators_model_type") != family:
        raise TypeError(f"speculators_model_type is not {family}")
    match family:
        case "dflash":
            return _borrowing(config, dflash.inventory(config, dtype), dtype)
        case "dflash2":
            return _dflash2(config, dtype)
        case "dspark":
            return _dspark(config, dtype)
        case "eagle3":
            return _eagle3(config, {}, dtype)
        case "peagle":
            fused = eagle3.aux_layers(config) * size(config, "hidden_size")
            return _eagle3(config, {"mask_hidden": (1, 1, fused)}, dtype)
        case "mtp":
            return _mtp(config, dtype)
    raise NotInventoriedError("this kind of speculators draft is not inventoried")


def _borrowing(config: Mapping[str, Any], base: Inventory, dtype: str) -> tuple[Inventory, Inventory]:
    """``base`` with what a reduced vocabulary adds, and what the draft may have instead of borrowing it."""
    hidden = size(config, "hidden_size")
    vocab, draft_vocab = vocabularies(config)
    embedding: Shapes = {"embed_tokens.weight": (vocab, hidden)}
    head: Shapes = {"lm_head.weight": (draft_vocab, hidden)}
    if vocab == draft_vocab:
        return base, extend({}, embedding | head, dtype)
    return extend({**base, **vocabulary_maps(config)}, head, dtype), extend({}, embedding, dtype)


def _dflash2(config: Mapping[str, Any], dtype: str) -> tuple[Inventory, Inventory]:
    vocab, draft_vocab = vocabularies(config)
    if vocab != draft_vocab:
        raise NotInventoriedError(
            "a DFlash2 draft with a reduced vocabulary is not inventoried: speculators refuses it"
        )
    return _borrowing(config, dflash2.inventory(config, dtype), dtype)


def _dspark(config: Mapping[str, Any], dtype: str) -> tuple[Inventory, Inventory]:
    base = dict(dspark.inventory(config, dtype))
    factor = base.get("markov_head.markov_w2.weight")
    if factor is not None:
        rows = vocabularies(config)[1]
        base["markov_head.markov_w2.weight"] = TensorSpec(factor.dtype, (rows, factor.shape[1]))
    return _borrowing(config, base, dtype)


def _eagle3(config: Mapping[str, Any], own: Shapes, dtype: str) -> tuple[Inventory, Inventory]:
    hidden = size(config, "hidden_size")
    vocab, draft_vocab = vocabularies(config)
    shapes = own | eagle3.fusion_shapes(config, hidden) | {"norm.weight": (hidden,)}
    shapes |= {"embed_tokens.weight": (vocab, hidden), "lm_head.weight": (draft_vocab, hidden)}
    shapes["layers.0.hidden_norm.weight"] = (hidden,)
    for index in range(size(config, "num_hidden_layers", most=MAX_LAYERS)):
        layer = _layer(config, hidden if index else 2 * hidden)
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    maps = vocabulary_maps(config)
    if vocab == draft_vocab:
        return extend({}, shapes, dtype), maps
    return extend(maps, shapes, dtype), {}


def _layer(config: Mapping[str, Any], width: int) -> Shapes:
    """A Llama or Qwen3 layer, with the biases that its config switches on."""
    hidden, q, kv = attention_sizes(config)
    inner, qwen = size(config, "intermediate_size"), config.get("model_type") != "llama"
    shapes = layer_shapes(config, width)
    if qwen:
        shapes |= eagle3.query_norm_shapes(config)
    if config.get("attention_bias") is True:
        rows = {"q": q, "k": kv, "v": kv, "o": hidden}
        shapes |= {f"self_attn.{name}_proj.bias": (count,) for name, count in rows.items()}
    if config.get("mlp_bias") is True and not qwen:
        rows = {"gate": inner, "up": inner, "down": hidden}
        shapes |= {f"mlp.{name}_proj.bias": (count,) for name, count in rows.items()}
    return shapes


def _mtp(config: Mapping[str, Any], dtype: str) -> tuple[Inventory, Inventory]:
    """One Qwen3 layer between three norms and a projection; in Qwen3.5 the query comes with its gate."""
    if config.get("model_type") not in ("qwen3", "qwen3_5_text"):
        raise NotInventoriedError(
            "an MTP layer of another model than dense Qwen3 and Qwen3.5 is not inventoried: it has the "
            "tensors of its target's layer"
        )
    hidden, q, _ = attention_sizes(config)
    layer = _layer(config, hidden) | {"input_proj.weight": (hidden, 2 * hidden)}
    layer |= {f"{name}_layernorm.weight": (hidden,) for name in ("hidden", "token", "final")}
    if config["model_type"] == "qwen3_5_text":
        layer["self_attn.q_proj.weight"] = (2 * q, hidden)
    return extend({}, {f"mtp_layers.0.{name}": shape for name, shape in layer.items()}, dtype), {}
