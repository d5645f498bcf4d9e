"""Hazards of rope: what engines make of YaRN keys, and positions beyond those of the draft."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from zoo.engines.flags import flag_value
from zoo.engines.hazards.model import Hazard, profile_argv
from zoo.recipe.model import Profile, Recipe

_VLLM_READ = Version("0.33.0")
_HONOURS_MSCALE = Version("0.5.16")  # sgl-project/sglang#31232; 0.5.15.post1 still drops both keys
# The classes of drafts with latent attention and a rope; SGLang knows the first one only.
_LATENT = ("Eagle3DeepseekV2ForCausalLM", "Eagle3DeepseekV3ForCausalLM")


def yarn_amplitude(
    rope: Mapping[str, Any], engine: str, version: Version | None = None, *, latent: bool = False
) -> float | None:
    """The factor on cos and sin that an engine makes of YaRN keys; None where nobody has read that engine's
    source.

    ``engine`` is ``sglang`` or ``vllm`` (with its version), or ``transformers`` (the definition that most
    trainers use). With ``f`` the factor: SGLang before 0.5.16 takes ``0.1 ln f + 1``; later ones, vLLM 0.33.0
    and transformers take the ratio of ``0.1 mscale ln f + 1`` and ``0.1 mscale_all_dim ln f + 1`` where both
    keys are there. vLLM and transformers read ``attention_factor``, only SGLang ``attn_factor``.

    ``latent``: the draft has latent attention (:func:`has_latent_attention`), for which both engines build
    DeepSeek's own YaRN and honour each of the two keys. Sources: sglang,
    layers/rotary_embedding/{factory,yarn,rope_variant}.py and models/deepseek_v2.py (DeepseekV2AttentionMLA);
    vllm, model_executor/layers/rotary_embedding/{__init__,yarn_scaling_rope}.py and models/deepseek_v2.py;
    transformers, modeling_rope_utils.py.
    """
    if engine == "transformers":
        return _transformers(rope)
    if engine == "sglang" and version is not None:
        return _deepseek(rope) if latent else _sglang(rope, honoured=version >= _HONOURS_MSCALE)
    if engine == "vllm" and version is not None and Version(version.public) == _VLLM_READ:
        return _vllm(rope, latent=latent)
    return None


def has_latent_attention(config: Mapping[str, Any]) -> bool:
    """Whether an engine serves a draft of this config.json with the attention of DeepSeek."""
    named = config.get("architectures")
    return isinstance(named, list) and any(name in _LATENT for name in named if isinstance(name, str))


def _deepseek(rope: Mapping[str, Any]) -> float:
    """DeepseekScalingRotaryEmbedding, which takes any scaled rope for YaRN; an absent mscale is 1, an absent
    mscale_all_dim 0."""
    if rope.get("type") == "default":
        return 1.0
    factor = float(rope.get("factor", 1.0))
    ratio = _amplitude(factor, rope.get("mscale", 1.0)) / _amplitude(factor, rope.get("mscale_all_dim", 0.0))
    return ratio * float(rope.get("attn_factor", 1.0))


def _sglang(rope: Mapping[str, Any], *, honoured: bool) -> float:
    if rope.get("type") != "yarn":
        return 1.0
    return _yarn(rope, honoured) * float(rope.get("attn_factor", 1.0))


def _vllm(rope: Mapping[str, Any], *, latent: bool) -> float:
    """As transformers; latent attention as SGLang's, but without ``attn_factor``."""
    if not latent:
        return _transformers(rope)
    return _deepseek({key: value for key, value in rope.items() if key != "attn_factor"})


def _transformers(rope: Mapping[str, Any]) -> float:
    if rope.get("type") != "yarn":
        return 1.0
    stated = rope.get("attention_factor")
    return _yarn(rope, honoured=True) if stated is None else float(stated)


def _yarn(rope: Mapping[str, Any], honoured: bool) -> float:
    factor, mscale, all_dim = float(rope.get("factor", 1.0)), rope.get("mscale"), rope.get("mscale_all_dim")
    if honoured and mscale and all_dim:
        return _amplitude(factor, mscale) / _amplitude(factor, all_dim)
    return _amplitude(factor, 1.0)


def _amplitude(factor: float, mscale: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


def served_amplitude(recipe: Recipe, engine: str, version: Version) -> float | None:
    """:func:`yarn_amplitude` of the draft that a recipe describes."""
    latent = has_latent_attention(recipe.draft.config)
    return yarn_amplitude(recipe.draft.rope, engine, version, latent=latent)


def amplitudes(recipe: Recipe) -> dict[str, float]:
    """The readings of the draft's rope that are known: who reads it -> the amplitude."""
    rope = recipe.draft.rope
    if has_latent_attention(recipe.draft.config):
        return {
            "SGLang": _deepseek(rope),
            f"vLLM {_VLLM_READ}": _vllm(rope, latent=True),
            "transformers": _transformers(rope),
        }
    return {
        "SGLang <0.5.16": _sglang(rope, honoured=False),
        "SGLang >=0.5.16": _sglang(rope, honoured=True),
        f"vLLM {_VLLM_READ}": _vllm(rope, latent=False),
        "transformers": _transformers(rope),
    }


def _amplitude_differs(recipe: Recipe, profile: Profile) -> bool:
    known = [value for reader, value in amplitudes(recipe).items() if reader.startswith("SGLang")]
    return max(known) - min(known) > 1e-6


def _states_a_factor(recipe: Recipe, profile: Profile) -> bool:
    rope = recipe.draft.rope
    return rope.get("type") == "yarn" and ("attention_factor" in rope or "attn_factor" in rope)


def _served_beyond_the_draft(recipe: Recipe, profile: Profile) -> bool:
    stated = flag_value(profile_argv(recipe, profile), "--context-length") or ""
    served = int(stated) if stated.isdecimal() else recipe.target.max_position_embeddings
    own = _positions(recipe)
    return served is not None and own is not None and own < served


def _positions(recipe: Recipe) -> int | None:
    """The positions that the draft's config covers, or None where it does not say."""
    rope, stated = recipe.draft.rope, recipe.draft.config.get("max_position_embeddings")
    original, factor = rope.get("original_max_position_embeddings"), rope.get("factor")
    stretched = original * factor if isinstance(original, int) and isinstance(factor, int | float) else None
    known = [int(value) for value in (stated, stretched) if isinstance(value, int | float)]
    return max(known, default=None)


YARN_AMPLITUDE = Hazard(
    code="E001",
    name="yarn-amplitude",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_amplitude_differs,
    card=(
        "The YaRN amplitude (the factor on cos and sin) depends on the engine version. SGLang before "
        "0.5.16 ignores `mscale` and `mscale_all_dim` and scales by 0.1 ln(factor) + 1; SGLang 0.5.16 "
        "and later, vLLM 0.33.0 and transformers honour both keys. A draft that is served with another "
        "amplitude than it was trained with loses accept length, and nothing reports it. Do not move this "
        "draft to another engine version without measuring."
    ),
    advice="measure the accept length on both engine versions, and state draft.rope.amplitude_as_trained",
    source=(
        "sgl-project/sglang#31232, sgl-project/sglang#22711; "
        "layers/rotary_embedding/yarn_scaling_rope.py of vllm 0.33.0"
    ),
    beside={"vllm": SpecifierSet(f"=={_VLLM_READ}")},
)
# The factory passes attn_factor on and no attention_factor (read in 0.5.14 and 0.5.23).
ROPE_FACTOR = Hazard(
    code="E014",
    name="rope-factor-not-portable",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_states_a_factor,
    card=(
        "SGLang multiplies the YaRN amplitude by `attn_factor` and does not read `attention_factor`; in "
        "vLLM and transformers it is the other way round. The same config means two amplitudes."
    ),
    advice="state neither key, and train with the amplitude that follows from factor and mscale",
    source=(
        "layers/rotary_embedding/factory.py of sglang 0.5.14 and 0.5.23; "
        "layers/rotary_embedding/__init__.py of vllm 0.33.0"
    ),
    beside={"vllm": SpecifierSet(f"=={_VLLM_READ}")},
)
# model_runner.py grows the draft's table of cos and sin to the target's context (0.5.14 and 0.5.23).
CONTEXT = Hazard(
    code="E019",
    name="draft-context-shorter",
    engine="sglang",
    versions=SpecifierSet(),
    applies=_served_beyond_the_draft,
    card=(
        "The draft covers fewer positions than are served. SGLang runs it beyond them without a word (older "
        "versions: a device assert), at positions that it never saw: expect a lower accept length there."
    ),
    advice="pass --context-length with the positions of the draft, or measure at long prompts",
    source="sgl-project/sglang#6783, sgl-project/sglang#3574; model_runner.py of sglang 0.5.14 and 0.5.23",
)
