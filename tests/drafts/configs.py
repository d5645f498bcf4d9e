"""Configs of public drafts, cut down to the keys that an inventory reads, and the bytes of an inventory."""

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
PUBLIC = {
    "dflash": KIMI,
    "dflash2": DFLASH2,
    "dspark": DSPARK,
    "domino": DOMINO,
    "eagle3": EAGLE3,
    "peagle": PEAGLE,
}


def with_head(config: Config, **changes: Any) -> Config:
    """``config`` with keys of ``dflash_config`` changed; None takes a key out."""
    keys = {**config["dflash_config"], **changes}
    return {**config, "dflash_config": {key: value for key, value in keys.items() if value is not None}}


def nbytes(inventory: Inventory) -> int:
    return sum(spec.nbytes for spec in inventory.values())
