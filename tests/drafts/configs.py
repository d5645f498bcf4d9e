"""Configs of drafts, cut down to the keys that an inventory reads, and the bytes of an inventory."""

from __future__ import annotations

from typing import Any

from zoo.drafts import Inventory

Config = dict[str, Any]

QWEN3_8B = {
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
}
IDS = [1, 9, 17, 25, 33]

# The published DFlash2 draft of z-lab/dflash (tests/fixtures, 0a7587c0).
DFLASH2: Config = {
    "architectures": ["DFlash2DraftModel"],
    "model_type": "qwen3",
    "hidden_size": 6656,
    "intermediate_size": 19968,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 5,
    "vocab_size": 202048,
    "dflash_config": {
        "target_layer_ids": [1, 13, 25, 37, 49],
        "conv_group_size": 16,
        "conv_kernel_size": 2,
        "selector_rank": 256,
        "selector_top_k": 16,
    },
}
# SpecForge, configs/kimi-k2.7-code-dflash.json.
KIMI: Config = {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 6,
    "vocab_size": 163840,
    "dflash_config": {"target_layer_ids": [1, 12, 24, 35, 47, 58]},
}
# SpecForge, configs/qwen3-8b-{dspark,domino,eagle3,peagle}.json.
DSPARK: Config = {
    **QWEN3_8B,
    "architectures": ["DSparkDraftModel"],
    "num_hidden_layers": 5,
    "dflash_config": {
        "projector_type": "dspark",
        "target_layer_ids": IDS,
        "markov_rank": 256,
        "markov_head_type": "vanilla",
        "enable_confidence_head": True,
        "confidence_head_with_markov": True,
    },
}
DOMINO: Config = {
    **QWEN3_8B,
    "architectures": ["DominoDraftModel"],
    "num_hidden_layers": 5,
    "emb_dim": 256,
    "dflash_config": {
        "projector_type": "domino",
        "target_layer_ids": IDS,
        "emb_dim": 256,
        "gru_hidden_dim": 1024,
    },
}
EAGLE3: Config = {
    **QWEN3_8B,
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "draft_vocab_size": 32000,
}
PEAGLE: Config = {**EAGLE3, "architectures": ["PEagleDraftModel"], "num_hidden_layers": 4}
# Of our own, after the keys that the sources read.
LAGUNA: Config = {
    "architectures": ["DFlashLagunaForCausalLM"],
    "hidden_size": 3072,
    "intermediate_size": 12288,
    "num_attention_heads": 72,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "num_hidden_layers": 6,
    "vocab_size": 100352,
    "gating": "per-head",
    "dflash_config": {"target_layer_ids": [1, 10, 19, 29, 38, 47]},
}
LATENT: Config = {
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "num_hidden_layers": 1,
    "vocab_size": 163840,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
EAGLE3_LATENT: Config = {
    **LATENT,
    "architectures": ["Eagle3DeepseekV2ForCausalLM"],
    "model_type": "kimi_k2",
    "draft_vocab_size": 163840,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 45, 89]},
}
DSPARK_LATENT: Config = {
    **LATENT,
    "architectures": ["K3DSparkModel"],
    "model_type": "k3_dspark",
    "intermediate_size": 14336,
    "num_hidden_layers": 5,
    "num_target_layers": 5,
    "target_hidden_size": 7168,
    "target_layer_ids": [7, 31, 47, 63, 87],
    "markov_rank": 256,
    "markov_head_type": "vanilla",
    "enable_confidence_head": True,
    "confidence_head_with_markov": True,
}
EAGLE: Config = {
    **QWEN3_8B,
    "architectures": ["LlamaForCausalLMEagle"],
    "model_type": "llama",
    "num_hidden_layers": 1,
}
MEDUSA: Config = {"medusa_num_heads": 5, "medusa_num_layers": 1, "hidden_size": 4096, "vocab_size": 32000}
PLAIN: Config = {**QWEN3_8B, "architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 28}


_CLASSES = {"dflash": "DFlash", "dflash2": "DFlash2", "dspark": "DSpark", "eagle3": "Eagle3"}
_CLASSES |= {"peagle": "PEagle", "mtp": "MTP"}


def nested(kind: str, layer: Config | None = None, **own: Any) -> Config:
    """A config of speculators: the layer of a small Qwen3, and the draft's own keys around it."""
    inner = {
        **QWEN3_8B,
        "model_type": "qwen3",
        "num_hidden_layers": 2,
        "rope_parameters": {"rope_theta": 1e6},
    }
    return {
        "architectures": [f"{_CLASSES[kind]}DraftModel"],
        "dtype": "bfloat16",
        "speculators_model_type": kind,
        "speculators_version": "0.9.0",
        "speculators_config": {"algorithm": kind},
        "target_hidden_size": None,
        "draft_vocab_size": QWEN3_8B["vocab_size"],
        **own,
        "transformer_layer_config": {**inner, **(layer or {})},
    }


_IDS: Config = {"aux_hidden_state_layer_ids": [2, 10, 18, 26, 34], "block_size": 8, "mask_token_id": 151669}
_MARKOV: Config = {"markov_rank": 256, "markov_head_type": "vanilla"}
_SWITCHES: Config = {"enable_confidence_head": True, "confidence_head_with_markov": True}
_PAIRS: Config = {"conv_kernel_size": 2, "conv_group_size": 16, "selector_rank": 256, "selector_top_k": 16}
_TAPS: Config = {"eagle_aux_hidden_state_layer_ids": [2, 18, 33], "norm_before_fc": False, "fc_norm": False}
NESTED: dict[str, Config] = {
    "dflash": nested("dflash", **_IDS),
    "dflash2": nested("dflash2", **_IDS, **_PAIRS),
    "dspark": nested("dspark", **_IDS, **_MARKOV, **_SWITCHES),
    "eagle3": nested("eagle3", **_TAPS),
    "peagle": nested("peagle", **_TAPS, mask_token_id=151669),
    "mtp": nested("mtp", num_nextn_predict_layers=1),
}
PUBLIC = {
    "dflash": KIMI,
    "dflash2": DFLASH2,
    "dspark": DSPARK,
    "domino": DOMINO,
    "eagle3": EAGLE3,
    "peagle": PEAGLE,
    "mtp": NESTED["mtp"],
    "eagle": EAGLE,
    "medusa": MEDUSA,
    "plain": PLAIN,
}


def with_head(config: Config, **changes: Any) -> Config:
    """``config`` with keys of ``dflash_config`` changed; None takes a key out."""
    keys = {**config["dflash_config"], **changes}
    return {**config, "dflash_config": {key: value for key, value in keys.items() if value is not None}}


def nbytes(inventory: Inventory) -> int:
    return sum(spec.nbytes for spec in inventory.values())
