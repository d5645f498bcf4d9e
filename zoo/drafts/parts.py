"""What the families share: reading a dimension, the keys of a head, layers, and what is not inventoried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import HEADER_DTYPE, Inventory, TensorSpec

# Far above any draft; a hostile config must not make us build a list without end.
MAX_LAYERS = 1000


class NotInventoriedError(ValueError):
    """The family is known, but not the names and shapes that this variant of it writes. The message says
    which variant; a check that meets it has not run."""


def size(stated: Mapping[str, Any], key: str, most: int = 10**9) -> int:
    """The integer that ``stated`` gives for ``key``.

    Raises:
        KeyError: it is not stated.
        TypeError: it is not an integer from 1 to ``most``.
    """
    value = stated[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
        raise TypeError(f"{key} is not an integer from 1 to {most:,}")
    return value


def head_keys(config: Mapping[str, Any], *blocks: str) -> dict[str, Any]:
    """What ``config`` states of a head: the top level, overlaid by ``dflash_config`` and then by ``blocks``.

    A value of null counts as absent.
    """
    levels = [config, *(config.get(block) for block in ("dflash_config", *blocks))]
    return {
        key: value
        for level in levels
        if isinstance(level, Mapping)
        for key, value in level.items()
        if value is not None
    }


def refuse_variants(config: Mapping[str, Any]) -> None:
    """Raise NotInventoriedError for a variant of a DFlash-family draft whose tensors are not known here."""
    if "transformer_layer_config" in config:
        raise NotInventoriedError("the nested config of speculators is not inventoried")
    keys = head_keys(config)
    if keys.get("attention_mode") == "mla" or "kv_lora_rank" in keys:
        raise NotInventoriedError("a draft with multi-head latent attention (MLA) is not inventoried")


def extend(base: Inventory, shapes: Mapping[str, tuple[int, ...]], dtype: str) -> Inventory:
    """``base`` with tensors of one dtype added, in the order of the names."""
    added = {name: TensorSpec(HEADER_DTYPE[dtype], shape) for name, shape in shapes.items()}
    return dict(sorted({**base, **added}.items()))


def layer_shapes(config: Mapping[str, Any], width: int) -> dict[str, tuple[int, ...]]:
    """A Llama layer whose attention reads ``width``: 9 tensors.

    With H hidden, A attention heads, G KV heads, D head dim, I intermediate: q [A*D, width], k and v [G*D,
    width], o [H, A*D], gate and up [I, H], down [H, I], two norms [H].
    """
    hidden, inner = size(config, "hidden_size"), size(config, "intermediate_size")
    heads, kv_heads = size(config, "num_attention_heads"), size(config, "num_key_value_heads")
    head_dim = hidden // heads if config.get("head_dim") is None else size(config, "head_dim")
    q, kv = heads * head_dim, kv_heads * head_dim
    return {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (q, width),
        "self_attn.k_proj.weight": (kv, width),
        "self_attn.v_proj.weight": (kv, width),
        "self_attn.o_proj.weight": (hidden, q),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }


def vocabularies(config: Mapping[str, Any]) -> tuple[int, int]:
    """The target's vocabulary and the draft's, which is the same unless ``draft_vocab_size`` is stated."""
    vocab = size(config, "vocab_size")
    return vocab, vocab if config.get("draft_vocab_size") is None else size(config, "draft_vocab_size")


def specs(shapes: Mapping[str, tuple[int, ...]], config: Mapping[str, Any], dtype: str) -> Inventory:
    """``shapes`` in ``dtype`` and the two maps between the vocabularies, in the order of the names."""
    vocab, draft_vocab = vocabularies(config)
    floats = {name: TensorSpec(HEADER_DTYPE[dtype], shape) for name, shape in shapes.items()}
    maps = {"d2t": TensorSpec("I64", (draft_vocab,)), "t2d": TensorSpec("BOOL", (vocab,))}
    return dict(sorted({**floats, **maps}.items()))
