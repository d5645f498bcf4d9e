"""What the families share: reading a dimension, the keys of a head, layers, and what is not inventoried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import HEADER_DTYPE, Inventory, TensorSpec

# Far above any draft; a hostile config must not make us build a list without end.
MAX_LAYERS = 1000
# The dimensions of multi-head latent attention (MLA).
LATENT_KEYS = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


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
    refuse_nested(config)
    keys = head_keys(config)
    if keys.get("attention_mode") == "mla" or "kv_lora_rank" in keys:
        raise NotInventoriedError("a draft with multi-head latent attention (MLA) is not inventoried")


def refuse_nested(config: Mapping[str, Any]) -> None:
    """Raise NotInventoriedError for a config that is still in the layout of speculators."""
    if "transformer_layer_config" in config:
        raise NotInventoriedError("the nested config of speculators is not inventoried as it stands")


def extend(base: Inventory, shapes: Mapping[str, tuple[int, ...]], dtype: str) -> Inventory:
    """``base`` with tensors of one dtype added, in the order of the names."""
    added = {name: TensorSpec(HEADER_DTYPE[dtype], shape) for name, shape in shapes.items()}
    return dict(sorted({**base, **added}.items()))


def layer_shapes(config: Mapping[str, Any], width: int) -> dict[str, tuple[int, ...]]:
    """A Llama layer whose attention reads ``width``: 9 tensors.

    With H hidden, A attention heads, G KV heads, D head dim, I intermediate: q [A*D, width], k and v [G*D,
    width], o [H, A*D], gate and up [I, H], down [H, I], two norms [H].
    """
    hidden, q, kv = attention_sizes(config)
    return {
        **_frame_shapes(config),
        "self_attn.q_proj.weight": (q, width),
        "self_attn.k_proj.weight": (kv, width),
        "self_attn.v_proj.weight": (kv, width),
        "self_attn.o_proj.weight": (hidden, q),
    }


def attention_sizes(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """H, A*D and G*D of :func:`layer_shapes`."""
    hidden = size(config, "hidden_size")
    heads, kv_heads = size(config, "num_attention_heads"), size(config, "num_key_value_heads")
    head_dim = hidden // heads if config.get("head_dim") is None else size(config, "head_dim")
    return hidden, heads * head_dim, kv_heads * head_dim


def latent_layer_shapes(config: Mapping[str, Any], width: int) -> dict[str, tuple[int, ...]]:
    """A layer with multi-head latent attention (MLA) that reads ``width``: 12 tensors, 10 without a rank for
    the query.

    With H hidden, A attention heads, I intermediate, q and c the ranks of query and KV, n and r the head dims
    without and with rotation, v the value's: q_a_proj [q, width], q_a_layernorm [q], q_b_proj [A*(n+r), q]
    (with ``q_lora_rank`` null: q_proj [A*(n+r), width]), kv_a_proj_with_mqa [c+r, width], kv_a_layernorm [c],
    kv_b_proj [A*(n+v), c], o_proj [H, A*v]; MLP and norms as in :func:`layer_shapes`.

    Raises:
        KeyError, TypeError: as :func:`size`.
        NotInventoriedError: a dimension of the attention is left to a default, which libraries disagree on.
    """
    absent = [key for key in LATENT_KEYS if key not in config]
    if absent:
        raise NotInventoriedError(
            "a draft with multi-head latent attention (MLA) is not inventoried where its config leaves "
            f"{', '.join(absent)} to a library's defaults: state them"
        )
    hidden, heads = size(config, "hidden_size"), size(config, "num_attention_heads")
    content, rotated = size(config, "qk_nope_head_dim"), size(config, "qk_rope_head_dim")
    latent, value = size(config, "kv_lora_rank"), size(config, "v_head_dim")
    query = heads * (content + rotated)
    if config["q_lora_rank"] is None:
        queries: dict[str, tuple[int, ...]] = {"self_attn.q_proj.weight": (query, width)}
    else:
        rank = size(config, "q_lora_rank")
        queries = {
            "self_attn.q_a_proj.weight": (rank, width),
            "self_attn.q_a_layernorm.weight": (rank,),
            "self_attn.q_b_proj.weight": (query, rank),
        }
    return {
        **_frame_shapes(config),
        **queries,
        "self_attn.kv_a_proj_with_mqa.weight": (latent + rotated, width),
        "self_attn.kv_a_layernorm.weight": (latent,),
        "self_attn.kv_b_proj.weight": (heads * (content + value), latent),
        "self_attn.o_proj.weight": (hidden, heads * value),
    }


def _frame_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """What surrounds the attention of a layer: two norms and a gated MLP."""
    hidden, inner = size(config, "hidden_size"), size(config, "intermediate_size")
    return {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
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
    return extend(vocabulary_maps(config), shapes, dtype)


def vocabulary_maps(config: Mapping[str, Any]) -> Inventory:
    """The two maps between the vocabularies: d2t int64 [D], offsets, and t2d bool [V]."""
    vocab, draft_vocab = vocabularies(config)
    return {"d2t": TensorSpec("I64", (draft_vocab,)), "t2d": TensorSpec("BOOL", (vocab,))}


def names_one_of(config: Mapping[str, Any], architectures: tuple[str, ...]) -> bool:
    """Whether ``architectures`` of config.json has one of these names. A name that is not in a list counts:
    what is meant is clear, and C071 says that engines want a list."""
    stated = config.get("architectures")
    names = [stated] if isinstance(stated, str) else stated
    return isinstance(names, list) and any(name in architectures for name in names)
