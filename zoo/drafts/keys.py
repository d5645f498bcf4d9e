"""The keys of config.json that engines read, for each family: where a value may stand, and which place wins.

Engines guess what a config does not say and skip what they do not know, so the keys decide what is served.
The lists were read in SGLang 0.5.14 and 0.5.23 (configs/model_config.py, models/dflash.py, models/dspark.py,
models/llama_eagle3.py, models/kimi_k25_eagle3.py, speculative/dflash_utils.py, speculative/dspark_components)
and vLLM 0.33.0 (models/llama.py, models/llama_eagle3.py, models/qwen3_dflash.py, models/qwen3_dspark.py,
config/speculative.py, transformers_utils/config.py, v1/spec_decode, v1/worker); a key that any of them reads
is in the list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Path = tuple[str, ...]

_ROPE_KEYS = (
    "factor original_max_position_embeddings beta_fast beta_slow mscale mscale_all_dim attention_factor "
    "attn_factor low_freq_factor high_freq_factor mrope_section short_factor long_factor"
).split()
_ROPE: Mapping[str, tuple[Path, ...]] = {
    "rope.theta": (("rope_parameters", "rope_theta"), ("rope_theta",)),
    "rope.type": (
        ("rope_parameters", "rope_type"),
        ("rope_parameters", "type"),
        ("rope_scaling", "rope_type"),
        ("rope_scaling", "type"),
    ),
    **{f"rope.{key}": (("rope_parameters", key), ("rope_scaling", key)) for key in _ROPE_KEYS},
}
ROPE_BLOCKS = ("rope_scaling", "rope_parameters")
# What SGLang and vLLM read of any model.
_ANY_MODEL = (
    "architectures attention_bias attention_chunk_size compression_config decoder "
    "dual_chunk_attention_config generator head_dim hidden_act hidden_size hidden_size_per_head "
    "intermediate_size is_causal is_hybrid_swa loop_num "
    "is_neox_style language_config layer_types llm_config max_position_embeddings max_seq_len "
    "max_sequence_length max_window_layers model_max_length model_type multi_query multi_query_group_num "
    "n_head_kv num_attention_groups num_attention_heads num_attention_heads_per_layer num_hidden_layers "
    "num_key_value_heads num_kv_heads original_max_position_embeddings partial_rotary_factor "
    "quantization_config rms_norm_eps rope_dim rotary_emb_base rotary_emb_fraction rotary_pct "
    "rope_is_neox_style rope_parameters rope_scaling rotary_dim seq_length sliding_window "
    "sliding_window_size swa_head_dim swa_num_key_value_heads swa_v_head_dim text_config thinker_config "
    "tie_word_embeddings use_sliding_window v_head_dim vocab_size window_size"
).split()


class Stated(NamedTuple):
    """A config value and the JSON pointer where it stands."""

    value: Any
    pointer: str


class Keys(NamedTuple):
    """What engines read from the config.json of a kind of draft.

    ``blocks`` are the objects below the top level that are read; ``own`` is the one with the draft's own
    keys. ``places`` says where a value may stand, in the order in which an engine looks; ``read`` are the
    other keys that some engine version reads, at the top level or in ``own``. A null in ``harmless_nulls``
    means the same as an absent key to every engine; in other keys that engines read, it does not.
    """

    own: str
    places: Mapping[str, tuple[Path, ...]]
    read: frozenset[str]
    harmless_nulls: frozenset[str]

    @property
    def blocks(self) -> tuple[str, ...]:
        return (self.own, *ROPE_BLOCKS)

    def stated(self, config: Mapping[str, Any]) -> dict[str, tuple[Stated, ...]]:
        """The config as an engine sees it: canonical key -> every place that states it, the one that wins
        first.

        Rope may stand in ``rope_theta`` and ``rope_scaling`` or (transformers 5) in ``rope_parameters``, and
        the draft's own keys at the top or in their block. A value of null counts as absent (C014 is about
        those). A key with a dot or a slash is no key of any engine (C015) and is left out.
        """
        flat: dict[Path, Any] = {}
        for key, value in config.items():
            if key in self.blocks and isinstance(value, Mapping):
                flat |= {(key, inner): deep for inner, deep in value.items()}
            else:
                flat[(key,)] = value
        canonical = {place: key for key, places in self.places.items() for place in places}
        found: dict[str, list[Stated]] = {}
        # Which of rope_parameters and rope_scaling wins differs between readers (C016 says so); take neither
        # on trust: what stands only in rope_scaling beside rope_parameters is no rope at all.
        shadowed = isinstance(config.get("rope_parameters"), Mapping)
        for path in sorted(flat, key=lambda path: self._rank(path, canonical.get(path))):
            if flat[path] is None or not all(map(is_plain, path)):
                continue
            key = canonical.get(path, ".".join(path))
            if shadowed and path[0] == "rope_scaling" and key not in found:
                key = ".".join(path)
            found.setdefault(key, []).append(Stated(flat[path], "/" + "/".join(path)))
        # Every engine takes the default rope where no type is stated.
        found.setdefault("rope.type", [Stated("default", "")])
        return {key: tuple(stated) for key, stated in found.items()}

    def is_read(self, key: str) -> bool:
        """Whether some engine version reads the canonical key ``key`` of :meth:`stated`."""
        outer, _, inner = key.rpartition(".")
        if outer in (*ROPE_BLOCKS, "rope"):
            return True
        return key in self.places or (inner in self.read and outer in ("", self.own))

    def _rank(self, path: Path, key: str | None) -> tuple[int, Path]:
        return (self.places[key].index(path) if key else 0, path)


def is_plain(key: str) -> bool:
    """Whether ``key`` can be a config key: no engine has one with a dot, slash or tilde."""
    return not set(key) & set("./~")


_HARMLESS = ("sliding_window", "quantization_config", "compression_config", "layer_types", *ROPE_BLOCKS)

# DFlash and the families that add a head to it. SGLang 0.5.14 reads a mask token id only from dflash_config,
# 0.5.23 also from the top level; the head's keys stand in dflash_config or, in TorchSpec, at the top.
DIFFUSION = Keys(
    own="dflash_config",
    places={
        **{
            key: (("dflash_config", key), (key,))
            for key in ("block_size", "target_layer_ids", "mask_token_id", "num_target_layers")
        },
        **_ROPE,
    },
    read=frozenset(
        [
            *_ANY_MODEL,
            *(
                "add_swa_attention_sink_bias attention_mode attention_sink_bias attention_value_scale "
                "causal confidence_head_with_markov conv_group_size conv_kernel_size dflash_config "
                "draft_vocab_size dspark_block_size dspark_bonus_anchor dspark_config dspark_draft_topk "
                "dspark_markov_head_type dspark_markov_rank dspark_noise_token_id "
                "dspark_target_layer_ids eagle_aux_hidden_state_layer_ids eagle_config emb_dim "
                "enable_confidence_head final_logit_softcapping gating gru_hidden_dim has_embed_tokens "
                "has_lm_head has_own_lm_head input_embedding_scale kv_lora_rank layer_ids logit_scale "
                "markov_head_type markov_rank mask_token output_multiplier pard_token projector_type "
                "ptd_token_id pure_draft_prefix_len sample_from_anchor selector_rank selector_top_k "
                "shift_label swa_window_size swiglu_alpha swiglu_limit target_hidden_size "
                "use_aux_hidden_state use_confidence_head use_gemma_norm use_swa"
            ).split(),
        ]
    ),
    harmless_nulls=frozenset((*_HARMLESS, "dflash_config", "draft_vocab_size")),
)
# EAGLE3 and P-EAGLE.
EAGLE = Keys(
    own="eagle_config",
    places={
        "target_layer_ids": (
            ("eagle_config", "eagle_aux_hidden_state_layer_ids"),
            ("eagle_aux_hidden_state_layer_ids",),
        ),
        **_ROPE,
    },
    read=frozenset(
        [
            *_ANY_MODEL,
            *(
                "bias dflash_config draft_vocab_size dspark_target_layer_ids eagle_config fc_norm "
                "intermediate_size_mlp kv_lora_rank layer_ids logit_scale mla_use_nope mlp_bias "
                "norm_before_fc norm_before_residual norm_output num_aux_hidden_states pretraining_tp "
                "q_lora_rank qk_nope_head_dim qk_rope_head_dim qkv_bias target_hidden_size "
                "use_aux_hidden_state use_aux_norm use_input_layernorm_in_first_layer use_last_layernorm "
                "use_mtp_layernorm"
            ).split(),
        ]
    ),
    harmless_nulls=frozenset((*_HARMLESS, "draft_vocab_size", "num_aux_hidden_states", "q_lora_rank")),
)
_OF_FAMILY = {
    **dict.fromkeys(("dflash", "dflash2", "domino", "dspark"), DIFFUSION),
    **dict.fromkeys(("eagle3", "peagle"), EAGLE),
}


def keys_of(family: str) -> Keys | None:
    """The keys of the family, or None where nobody has listed them."""
    return _OF_FAMILY.get(family)
