"""Keys that some engine reads from a draft's config.json and that the tiny drafts do not state, with values
that change what is served.

A list of our own, read in the same sources as ``zoo.drafts.keys`` but apart from it, for the harness must not
take the tool's word: SGLang 0.5.14 and 0.5.23 (configs/model_config.py, models/dflash.py, models/dspark.py,
models/llama.py, models/llama_eagle3.py, models/kimi_k25_eagle3.py, speculative/dflash_utils.py,
speculative/dspark_components/dspark_config.py, model_executor/model_runner.py) and vLLM 0.33.0
(config/speculative.py, models/llama.py, models/llama_eagle3.py, models/qwen3_dflash.py,
models/qwen3_dspark.py, transformers_utils/config.py, v1/spec_decode, v1/worker).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Keys = Mapping[str, tuple[Any, ...]]

_OF_ANY_MODEL: Keys = {
    "attention_chunk_size": (64,),
    "compression_config": ({"quant_method": "compressed-tensors"},),
    "decoder": ({"hidden_size": 32},),
    "dual_chunk_attention_config": ({"chunk_size": 8192},),
    "generator": ({"hidden_size": 32},),
    "head_dim": (32,),
    "is_causal": (True, False),
    "is_neox_style": (False,),
    "language_config": ({"hidden_size": 32},),
    "layer_types": (["sliding_attention"], ["full_attention"]),
    "llm_config": ({"hidden_size": 32},),
    "max_seq_len": (64,),
    "max_window_layers": (0, 1),
    "model_max_length": (64,),
    "multi_query": (True,),
    "multi_query_group_num": (1,),
    "n_head_kv": (1,),
    "num_attention_groups": (1,),
    "num_attention_heads_per_layer": ([8, 8],),
    "num_kv_heads": (1,),
    "partial_rotary_factor": (0.5,),
    "quantization_config": ({"quant_method": "fp8"},),
    "rope_is_neox_style": (False,),
    "rope_parameters": ({"rope_type": "default", "rope_theta": 5000.0},),
    "rope_scaling": ({"rope_type": "linear", "factor": 2.0}, {"factor": 2.0}),
    "rope_theta": (5000.0,),
    "sliding_window": (32,),
    "swa_head_dim": (32,),
    "swa_num_key_value_heads": (1,),
    "swa_v_head_dim": (32,),
    "text_config": ({"hidden_size": 32},),
    "thinker_config": ({"text_config": {"hidden_size": 32}},),
    "v_head_dim": (8,),
}
_OF_ITS_BLOCK: Keys = {
    "attention_sink_bias": (True,),
    "attention_value_scale": (0.5,),
    "block_size": (4,),
    "causal": (True, False),
    "conv_group_size": (4,),
    "conv_kernel_size": (2,),
    "emb_dim": (3,),
    "enable_confidence_head": (True,),
    "confidence_head_with_markov": (True,),
    "final_logit_softcapping": (30.0,),
    "gru_hidden_dim": (5,),
    "kv_lora_rank": (8,),
    "layer_ids": ([0, 1],),
    "markov_head_type": ("rnn",),
    "markov_rank": (3,),
    "mask_token": ("<|mask|>",),
    "mask_token_id": (7,),
    "num_target_layers": (8,),
    "output_multiplier": (0.5,),
    "projector_type": ("dspark", "domino", "mlp"),
    "pure_draft_prefix_len": (2,),
    "sample_from_anchor": (False,),
    "selector_rank": (3,),
    "selector_top_k": (2,),
    "shift_label": (False,),
    "swa_window_size": (16,),
    "target_layer_ids": ([0, 1],),
    "use_aux_hidden_state": (False,),
    "use_swa": (True,),
}
_OF_DFLASH: Keys = {
    **_OF_ITS_BLOCK,
    "add_swa_attention_sink_bias": (True,),
    "attention_mode": ("mla",),
    "draft_vocab_size": (64,),
    "dspark_block_size": (4,),
    "dspark_bonus_anchor": (True,),
    "dspark_config": ({"markov_rank": 3}, {"target_layer_ids": [0, 1]}),
    "dspark_draft_topk": (4,),
    "dspark_markov_head_type": ("rnn",),
    "dspark_markov_rank": (3,),
    "dspark_noise_token_id": (7,),
    "dspark_target_layer_ids": ([0, 1],),
    "eagle_aux_hidden_state_layer_ids": ([0, 1],),
    "eagle_config": ({"use_aux_hidden_state": False}, {"eagle_aux_hidden_state_layer_ids": [0, 1]}),
    "gating": ("per-head",),
    "has_embed_tokens": (True,),
    "has_own_lm_head": (True,),
    "input_embedding_scale": (8.0,),
    "logit_scale": (0.5,),
    "swiglu_alpha": (1.7,),
    "swiglu_limit": (7.0,),
    "target_hidden_size": (128,),
    "use_gemma_norm": (True,),
}
_OF_EAGLE_BLOCK: Keys = {
    "layer_ids": ([0, 1],),
    "norm_before_fc": (True,),
    "use_aux_hidden_state": (False, True),
    "use_input_layernorm_in_first_layer": (True, False),
    "use_last_layernorm": (True,),
    "use_mtp_layernorm": (True,),
}
_OF_EAGLE: Keys = {
    "bias": (True,),
    "dflash_config": ({"target_layer_ids": [0, 1]},),
    "dspark_target_layer_ids": ([0, 1],),
    "draft_vocab_size": (64,),
    "eagle_aux_hidden_state_layer_ids": ([1, 2, 3],),
    "fc_norm": (True,),
    "intermediate_size_mlp": (48,),
    "kv_lora_rank": (8,),
    "logit_scale": (0.5,),
    "mlp_bias": (True,),
    "norm_before_fc": (True,),
    "norm_before_residual": (True, False),
    "norm_output": (True,),
    "num_aux_hidden_states": (2,),
    "pretraining_tp": (2,),
    "q_lora_rank": (8,),
    "qkv_bias": (True,),
    "target_hidden_size": (128,),
    "target_layer_ids": ([0, 1],),
    "use_aux_norm": (True,),
}
_ROPE: Keys = {
    "rope_type": ("linear",),
    "factor": (2.0,),
    "original_max_position_embeddings": (256,),
    "mscale": (0.7,),
    "mscale_all_dim": (0.7,),
    "attention_factor": (1.2,),
    "attn_factor": (1.2,),
    "beta_fast": (16.0,),
    "beta_slow": (2.0,),
    "low_freq_factor": (1.0,),
    "partial_rotary_factor": (0.5,),
    "truncate": (False,),
}
_BLOCKS: Mapping[str, Keys] = {"rope_scaling": _ROPE, "rope_parameters": _ROPE}

# The block with the draft's own keys -> block to add to ("": the top level) -> key -> values.
ADDED_TO: Mapping[str, Mapping[str, Keys]] = {
    "dflash_config": {"": {**_OF_ANY_MODEL, **_OF_DFLASH}, "dflash_config": _OF_ITS_BLOCK, **_BLOCKS},
    "eagle_config": {"": {**_OF_ANY_MODEL, **_OF_EAGLE}, "eagle_config": _OF_EAGLE_BLOCK, **_BLOCKS},
}
ADDED: Mapping[str, tuple[str, ...]] = {own: tuple(blocks[""]) for own, blocks in ADDED_TO.items()}
# Keys that exporters write and that no engine reads of a draft.
UNREAD: Mapping[str, Any] = {
    "_name_or_path": "/somewhere",
    "transformers_version": "5.8.1",
    "initializer_range": 0.02,
    "use_cache": True,
    "comment": "a note",
}
