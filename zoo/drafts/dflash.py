"""DFlash in the layout of z-lab, which SGLang, vLLM, ModelOpt and SpecForge read.

A block-diffusion draft: it reads the target's hidden states after a few aux layers, fuses them with ``fc``,
and fills a whole block of mask tokens in one forward pass. Embedding and head are the target's. Qwen3-style
layers.

Sources: sglang 0.5.14, models/dflash.py and speculative/dflash_utils.py (parse_dflash_draft_config); the
published safetensors headers of z-lab/dflash (tests/fixtures) agree with this inventory to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zoo.drafts import HEADER_DTYPE, Inventory, TensorSpec
from zoo.drafts.parts import MAX_LAYERS, size

ARCHITECTURES = ("DFlashDraftModel",)

Path = tuple[str, ...]
# The parts of config.json below the top level that engines read.
BLOCKS = ("dflash_config", "rope_scaling", "rope_parameters")
_ROPE_KEYS = (
    "factor original_max_position_embeddings beta_fast beta_slow mscale mscale_all_dim attention_factor "
    "attn_factor low_freq_factor high_freq_factor"
).split()

# Where a value may stand in config.json, in the order in which an engine looks. SGLang 0.5.14 reads a mask
# token id only from dflash_config; 0.5.23 also from the top level.
PLACES: Mapping[str, tuple[Path, ...]] = {
    **{
        key: (("dflash_config", key), (key,))
        for key in ("block_size", "target_layer_ids", "mask_token_id", "num_target_layers")
    },
    "rope.theta": (("rope_parameters", "rope_theta"), ("rope_theta",)),
    "rope.type": (
        ("rope_parameters", "rope_type"),
        ("rope_parameters", "type"),
        ("rope_scaling", "rope_type"),
        ("rope_scaling", "type"),
    ),
    **{f"rope.{key}": (("rope_parameters", key), ("rope_scaling", key)) for key in _ROPE_KEYS},
}

# Keys that some engine version reads (SGLang 0.5.14 or 0.5.23: models/dflash.py, speculative/dflash_utils.py,
# configs/model_config.py), at the top level, inside dflash_config, or in both. A value here that the recipe
# does not state changes what is served.
READ_KEYS = frozenset(
    (
        "architectures attention_bias attention_chunk_size attention_sink_bias attention_value_scale "
        "causal compression_config conv_group_size conv_kernel_size decoder dflash_config "
        "dual_chunk_attention_config eagle_aux_hidden_state_layer_ids emb_dim final_logit_softcapping "
        "gating gru_hidden_dim has_embed_tokens has_lm_head head_dim hidden_act hidden_size "
        "input_embedding_scale intermediate_size is_causal is_neox_style language_config layer_types "
        "llm_config mask_token max_position_embeddings max_seq_len max_sequence_length model_max_length "
        "model_type num_attention_heads num_hidden_layers num_key_value_heads output_multiplier "
        "partial_rotary_factor projector_type pure_draft_prefix_len quantization_config rms_norm_eps "
        "rope_dim rope_is_neox_style rope_parameters rope_scaling rotary_dim sample_from_anchor "
        "selector_rank selector_top_k seq_length shift_label sliding_window sliding_window_size "
        "swa_head_dim swa_v_head_dim swa_window_size target_hidden_size text_config thinker_config "
        "tie_word_embeddings use_gemma_norm use_sliding_window use_swa v_head_dim vocab_size "
        "window_size"
    ).split()
)
# A null here means the same as an absent key to every engine; in other keys that engines read, it does not.
HARMLESS_NULLS = frozenset(
    ("sliding_window", "quantization_config", "compression_config", "layer_types", *BLOCKS)
)
_CANONICAL = {place: key for key, places in PLACES.items() for place in places}


@dataclass(frozen=True, slots=True)
class Stated:
    """A config value and the JSON pointer where it stands."""

    value: Any
    pointer: str


def read_config(config: Mapping[str, Any]) -> dict[str, tuple[Stated, ...]]:
    """The config as an engine sees it: canonical key -> every place that states it, the one that wins first.

    ``block_size`` may stand at the top or in ``dflash_config``, rope in ``rope_theta`` and ``rope_scaling``
    or (transformers 5) in ``rope_parameters``. A value of null counts as absent (in dflash_config it is an
    error of its own, C014). A key with a dot or a slash is no key of any engine (C015) and is left out.
    """
    flat: dict[Path, Any] = {}
    for key, value in config.items():
        if key in BLOCKS and isinstance(value, Mapping):
            flat |= {(key, inner): deep for inner, deep in value.items()}
        else:
            flat[(key,)] = value
    found: dict[str, list[Stated]] = {}
    # Which of rope_parameters and rope_scaling wins differs between readers (C016 says so); take neither on
    # trust: what stands only in rope_scaling beside rope_parameters is no rope at all.
    shadowed = isinstance(config.get("rope_parameters"), Mapping)
    for path in sorted(flat, key=_rank):
        if flat[path] is None or not all(map(is_plain, path)):
            continue
        key = _CANONICAL.get(path, ".".join(path))
        if shadowed and path[0] == "rope_scaling" and key not in found:
            key = ".".join(path)
        found.setdefault(key, []).append(Stated(flat[path], "/" + "/".join(path)))
    # Every engine takes the default rope where no type is stated.
    found.setdefault("rope.type", [Stated("default", "")])
    return {key: tuple(stated) for key, stated in found.items()}


def is_plain(key: str) -> bool:
    """Whether ``key`` can be a config key: no engine has one with a dot, slash or tilde."""
    return not set(key) & set("./~")


def is_read(key: str) -> bool:
    """Whether some engine version reads the canonical key ``key`` of :func:`read_config`."""
    outer, _, inner = key.rpartition(".")
    if outer in ("rope_scaling", "rope_parameters", "rope"):
        return True
    return key in PLACES or (inner in READ_KEYS and outer in ("", "dflash_config"))


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the draft that ``config`` describes: 3 + 11 x layers (15 x layers with attention
    biases).

    Shapes, with H hidden, A attention heads, G KV heads, D head dim, I intermediate, K aux layers: fc [H,
    K*H]; per layer q [A*D, H], k and v [G*D, H], o [H, A*D], gate and up [I, H], down [H, I]; norms [H],
    q_norm and k_norm [D].

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer.
    """
    stated = {key: places[0].value for key, places in read_config(config).items()}
    hidden, inner = size(stated, "hidden_size"), size(stated, "intermediate_size")
    heads, kv_heads = size(stated, "num_attention_heads"), size(stated, "num_key_value_heads")
    head_dim = size(stated, "head_dim") if "head_dim" in stated else hidden // heads
    ids = stated["target_layer_ids"]
    if not isinstance(ids, list):
        raise TypeError("target_layer_ids is not a list")
    norm, q, kv = (hidden,), heads * head_dim, kv_heads * head_dim
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": norm,
        "post_attention_layernorm.weight": norm,
        "self_attn.q_proj.weight": (q, hidden),
        "self_attn.k_proj.weight": (kv, hidden),
        "self_attn.v_proj.weight": (kv, hidden),
        "self_attn.o_proj.weight": (hidden, q),
        "self_attn.q_norm.weight": (head_dim,),
        "self_attn.k_norm.weight": (head_dim,),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    if stated.get("attention_bias") is True:
        biases = {"q": (q,), "k": (kv,), "v": (kv,), "o": norm}
        layer |= {f"self_attn.{name}_proj.bias": shape for name, shape in biases.items()}
    shapes = {"fc.weight": (hidden, len(ids) * hidden), "hidden_norm.weight": norm, "norm.weight": norm}
    for index in range(size(stated, "num_hidden_layers", most=MAX_LAYERS)):
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    return {name: TensorSpec(HEADER_DTYPE[dtype], shape) for name, shape in sorted(shapes.items())}


def _rank(path: Path) -> tuple[int, Path]:
    key = _CANONICAL.get(path)
    return (PLACES[key].index(path) if key else 0, path)
