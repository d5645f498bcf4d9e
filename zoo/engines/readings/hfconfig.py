"""config.json as transformers hands it to an engine: with the defaults of its model type, or a refusal.

Engines ask a config object, not the file. A key that is absent has the default of the model type (a Qwen3
config without ``head_dim`` has 128, whatever the engine's own fallback), and a value of the wrong type stops
the start. Source: transformers 5.8.1 (which SGLang 0.5.14 pins) and 5.19.0 (SGLang 0.5.23; vLLM 0.33.0 takes
5.16.1 to 5.20.2), models/{qwen3,llama,deepseek_v3}/configuration_*.py and models/auto/; run with both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from zoo.engines.readings.model import Refusal

_QWEN3: Mapping[str, Any] = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 128,
    "hidden_act": "silu",
    "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
}
_LLAMA: Mapping[str, Any] = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": None,
    "head_dim": None,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "attention_bias": False,
}
_DEEPSEEK: Mapping[str, Any] = {
    "vocab_size": 129280,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": False,
    "attention_bias": False,
}
_DEFAULTS = {"qwen3": _QWEN3, "llama": _LLAMA, "deepseek_v3": _DEEPSEEK, "kimi_k2": _DEEPSEEK}
_MAY_BE_NULL = {
    "qwen3": ("num_key_value_heads", "sliding_window"),
    "llama": ("num_key_value_heads", "head_dim"),
    "deepseek_v3": ("q_lora_rank", "v_head_dim"),
    "kimi_k2": ("q_lora_rank", "v_head_dim"),
}


@cache
def model_types(engine: str, version: str) -> frozenset[str]:
    """The model types of which this engine version makes a config (model_types.json, which
    scripts/model_types.py writes from the wheels)."""
    listed = json.loads(files("zoo.engines.readings").joinpath("model_types.json").read_text())
    return frozenset((*listed["every"], *listed[f"{engine} {version}"]))


def seen_by_engine(
    config: Mapping[str, Any], engine: str, version: str
) -> tuple[dict[str, Any], list[Refusal]]:
    """The config with the defaults of its model type, and what the engine's config parser refuses in it."""
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in model_types(engine, version):
        stated = "no model_type" if not isinstance(kind, str) else f"the unknown model_type {kind!r}"
        reason = f"config.json has {stated}, so transformers cannot make a config of it"
        return dict(config), [Refusal("model type", reason, "AutoConfig.from_pretrained", key="model_type")]
    return read_by_transformers(config, kind)


def read_by_transformers(config: Mapping[str, Any], kind: str) -> tuple[dict[str, Any], list[Refusal]]:
    """The config with the defaults of the model type ``kind``, and what transformers refuses in it."""
    defaults = _DEFAULTS.get(kind, {})
    seen = {**defaults, **config}
    refusals = [
        Refusal("config", f"{key} is {_spelled(config[key])}, not {wanted}", f"{kind} config of transformers")
        for key, default in defaults.items()
        if key in config and (wanted := _wanted(config[key], key, default, kind)) is not None
    ]
    if not refusals:
        refusals = _derive(seen, kind)
    return seen, refusals


def _derive(seen: dict[str, Any], kind: str) -> list[Refusal]:
    """What the config classes work out for themselves."""
    layers, heads = seen.get("num_hidden_layers", 0), seen.get("num_attention_heads")
    if kind in _DEFAULTS and kind != "deepseek_v3" and seen.get("num_key_value_heads") is None:
        seen["num_key_value_heads"] = heads
    if kind == "llama" and seen.get("head_dim") is None:
        if seen["hidden_size"] % heads:
            reason = f"hidden_size {seen['hidden_size']} is not a multiple of num_attention_heads {heads}"
            return [Refusal("config", reason, "llama config of transformers")]
        seen["head_dim"] = seen["hidden_size"] // heads
    if kind == "qwen3":
        if not seen["use_sliding_window"]:
            seen["sliding_window"] = None
        if seen.get("layer_types") is None:
            window, full = seen["sliding_window"], seen["max_window_layers"]
            seen["layer_types"] = [
                "sliding_attention" if window is not None and index >= full else "full_attention"
                for index in range(min(layers, 10_000))
            ]
    if kind in ("deepseek_v3", "kimi_k2") and seen.get("v_head_dim") is None:
        seen["v_head_dim"] = seen["qk_rope_head_dim"]  # the engines take the config's head_dim, which is this
    if "rope_theta" in seen and seen["rope_theta"] is None and kind in ("qwen3", "llama"):
        return [Refusal("config", "rope_theta is null", "rotary embedding of the engine", key="rope_theta")]
    types = seen.get("layer_types")
    if isinstance(types, list) and kind in _DEFAULTS and len(types) != layers:
        reason = f"layer_types has {len(types)} entries for {layers} layers"
        return [Refusal("config", reason, "validate_layer_type of transformers")]
    return []


def _wanted(value: Any, key: str, default: Any, kind: str) -> str | None:
    """The type that ``value`` should have had, or None if it is fine."""
    if value is None:
        return None if key in _MAY_BE_NULL[kind] else _word(default)
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(default, str):
        return None if isinstance(value, str) else "a text"
    if isinstance(default, float):
        return None if isinstance(value, float) else "a number with a point"
    return None if isinstance(value, int) else "an integer"


def _word(default: Any) -> str:
    return {bool: "true or false", str: "a text", float: "a number with a point"}.get(
        type(default), "an integer"
    )


def _spelled(value: Any) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
