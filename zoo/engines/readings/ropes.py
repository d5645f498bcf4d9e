"""Ropes that an engine cannot build: a type that it does not know, or one without the numbers that it needs.

Sources: transformers 5.8.1 to 5.20.2, modeling_rope_utils.py (validate_rope, which raises for a missing key);
sglang 0.5.14 and 0.5.23, layers/rotary_embedding/factory.py and models/llama_eagle3.py; vllm 0.33.0,
layers/rotary_embedding/__init__.py and transformers_utils/config.py. Whether the numbers are those of
training is for the C rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.engines.readings.model import Refusal

_COMMON = ("default", "linear", "dynamic", "yarn", "llama3", "longrope", "proportional", "deepseek_yarn")
_KNOWN = {
    "sglang": _COMMON,
    "vllm": (*_COMMON, "ntk", "mllama4", "bailing_mrope", "openpangu", "deepseek_llama_scaling"),
}
# What vLLM makes of names of older configs.
_LEGACY = {"vllm": {"su": "longrope", "mrope": "default"}}
# What transformers wants of a type; the original context falls back to the whole one.
_NEEDS = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "longrope": ("short_factor", "long_factor"),
}
_SOURCE = "layers/rotary_embedding of the engine"


def refused_rope(seen: Mapping[str, Any], engine: str, loads_as: str | None) -> Refusal | None:
    """Why ``engine`` cannot build the rope of this config for its class ``loads_as``, or None if it can.

    A class with latent attention takes any scaled rope for DeepSeek's YaRN, and SGLang's other EAGLE3 class
    any rope with an mrope_section for a plain one.
    """
    block = seen.get("rope_scaling") or seen.get("rope_parameters")
    if not isinstance(block, Mapping):
        return None  # C074 and C103 speak of what is no object
    kind = block.get("rope_type", block.get("type", "default"))
    section = block.get("mrope_section")
    for key in _NEEDS.get(kind, ()) if isinstance(kind, str) else ():
        if key not in block:
            reason = f"the rope is {kind!r} without {key} (KeyError)"
            return Refusal("config", reason, "validate_rope of transformers", key=f"rope.{key}")
    if section is not None and not _numbers(section):
        reason = f"mrope_section is {section!r}, not a list of integers"
        return Refusal("config", reason, _SOURCE, key="rope.mrope_section")
    kind = _LEGACY.get(engine, {}).get(kind, kind) if isinstance(kind, str) else kind
    latent = loads_as == "Eagle3DeepseekV2ForCausalLM"
    plain = section is not None and engine == "sglang" and loads_as == "LlamaForCausalLMEagle3"
    if latent or plain or not isinstance(kind, str) or kind in _KNOWN[engine]:
        return None
    return Refusal("config", f"it knows no rope of type {kind!r}", _SOURCE, key="rope.type")


def _numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(each) is int for each in value)
