"""The nested config of speculators, turned into a flat one as vLLM does it.

Source: vllm 0.33.0, transformers_utils/config.py (HFConfigParser) and configs/speculators/algos.py. SGLang
0.5.14 and 0.5.23 have no such step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.engines.readings.sglang_dflash import Refused

_SOURCE = "vllm transformers_utils/configs/speculators/algos.py"
_EAGLE3 = {"qwen3": "Eagle3Qwen3ForCausalLM", "llama": "Eagle3LlamaForCausalLM"}
_PEAGLE = {"qwen3": "PeagleQwen3ForCausalLM", "llama": "PeagleLlamaForCausalLM"}
_HEAD_KEYS = (
    "draft_vocab_size target_hidden_size mask_token_id markov_rank markov_head_type block_size "
    "enable_confidence_head confidence_head_with_markov use_aux_hidden_state"
).split()


def is_nested(config: Mapping[str, Any]) -> bool:
    """Whether vLLM takes the config for one of speculators: it looks at these keys alone."""
    return config.get("model_type") is None and config.get("speculators_config") is not None


def architecture_of(config: Mapping[str, Any]) -> str | None:
    """The architecture that vLLM gives a nested config, or None where it refuses the config."""
    try:
        return str(flattened(config)["architectures"][0])
    except Refused:
        return None


def flattened(config: Mapping[str, Any]) -> dict[str, Any]:
    """The flat config that vLLM makes; a flat one stays as it is.

    Raises:
        Refused: vLLM raises.
    """
    if not is_nested(config):
        return dict(config)
    kind = config.get("speculators_model_type")
    if not isinstance(kind, str) or kind not in ("eagle3", "peagle", "dflash", "dflash2", "dspark"):
        raise Refused(f"speculators_model_type {kind!r} is none of those that vLLM converts", _SOURCE)
    nested = config.get("transformer_layer_config")
    flat = dict(nested) if isinstance(nested, Mapping) else {}
    if kind in ("eagle3", "peagle"):
        return flat | _eagle(config, flat, kind)
    ids = config.get("aux_hidden_state_layer_ids")
    if not isinstance(ids, list):
        raise Refused("the config has no list aux_hidden_state_layer_ids", _SOURCE)
    if not all(type(number) is int for number in ids):
        raise Refused("aux_hidden_state_layer_ids holds something else than integers", _SOURCE)
    shifted = [number - 1 for number in ids]
    if kind == "dspark":
        flat |= {key: config[key] for key in _HEAD_KEYS if config.get(key) is not None}
        named = config.get("architectures")
        stated = ["Qwen3DSparkModel"] if isinstance(named, list) and "Qwen3DSparkModel" in named else []
        return flat | {
            "architectures": stated or ["Qwen3DSparkModel"],
            "eagle_aux_hidden_state_layer_ids": ids,
            "target_layer_ids": shifted,
        }
    if "mask_token_id" not in config:
        raise Refused("the config has no mask_token_id", _SOURCE)
    block = {"mask_token_id": config["mask_token_id"], "target_layer_ids": shifted}
    if kind == "dflash2":
        keys = ("conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k")
        block |= {key: config[key] for key in keys if config.get(key) is not None}
    if config.get("target_hidden_size") is not None:
        flat["target_hidden_size"] = config["target_hidden_size"]
    return flat | {
        "architectures": ["DFlash2DraftModel" if kind == "dflash2" else "DFlashDraftModel"],
        "draft_vocab_size": config.get("draft_vocab_size"),
        "eagle_aux_hidden_state_layer_ids": ids,
        "dflash_config": block,
    }


def _eagle(config: Mapping[str, Any], flat: Mapping[str, Any], kind: str) -> dict[str, Any]:
    names = _EAGLE3 if kind == "eagle3" else _PEAGLE
    model_type = flat.get("model_type", "llama")
    if not isinstance(model_type, str) or model_type not in names:
        raise Refused(f"Unsupported model_type {model_type} for a {kind} speculator", _SOURCE)
    made: dict[str, Any] = {
        "architectures": [names[model_type]],
        "draft_vocab_size": config.get("draft_vocab_size"),
        "norm_before_fc": config.get("norm_before_fc", False),
    }
    if kind == "eagle3":
        made |= {key: config.get(key, False) for key in ("fc_norm", "norm_output")}
    elif "mask_token_id" not in config:
        raise Refused("the config has no mask_token_id", _SOURCE)
    for key in ("target_hidden_size", "eagle_aux_hidden_state_layer_ids"):
        if config.get(key):
            made[key] = config[key]
    return made
