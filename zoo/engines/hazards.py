"""Hazards: what goes wrong with a good draft because of a range of engine versions, without any message.

A hazard *applies* to a recipe and a profile when its conditions are there, even where the profile already
steps around it: the card carries its sentence, so that whoever changes the command knows why. The rules of
``zoo.rules.engine`` report profiles that run into one.

The ranges were read in the published sglang wheels 0.5.11, 0.5.14, 0.5.15.post1, 0.5.16, 0.5.17, 0.5.19 and
0.5.23.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from zoo.engines.flags import flag_value
from zoo.engines.launch import launch_argv
from zoo.recipe.model import ModelRef, Profile, Recipe

ENGINE_NAMES = {"sglang": "SGLang", "vllm": "vLLM"}
BF16 = ("bf16", "bfloat16")
_HONOURS_MSCALE = Version("0.5.16")  # sgl-project/sglang#31232; 0.5.15.post1 still drops both keys


@dataclass(frozen=True, slots=True)
class Hazard:
    """A consequence of engine versions. ``card`` is its text on the card, in Markdown; ``advice`` what to
    do."""

    code: str
    name: str
    engine: str
    versions: SpecifierSet
    applies: Callable[[Recipe, Profile], bool]
    card: str
    advice: str
    source: str

    @property
    def range(self) -> str:
        """The engine versions in words: ``SGLang <0.5.16``."""
        versions = f" {self.versions}" if str(self.versions) else ", all versions"
        return ENGINE_NAMES[self.engine] + versions

    def threatens(self, recipe: Recipe, profile: Profile) -> bool:
        """Whether its conditions are there: the engine, the version and the rest."""
        in_range = self.versions.contains(profile.version, prereleases=True)
        return profile.engine == self.engine and in_range and self.applies(recipe, profile)


def profile_argv(recipe: Recipe, profile: Profile) -> list[str]:
    """The command of ``profile`` for the published draft, before a version is pinned."""
    return launch_argv(profile, target=recipe.target.served, draft=ModelRef(recipe.repo))


def yarn_amplitude(rope: Mapping[str, Any], engine: str, version: Version | None = None) -> float | None:
    """The factor on cos and sin that an engine makes of YaRN keys; None where nobody has read that engine's
    source.

    ``engine`` is ``sglang`` (with its version) or ``transformers`` (the definition that most trainers use).
    With ``f`` the factor: SGLang before 0.5.16 takes ``0.1 ln f + 1``; later ones and transformers take the
    ratio of ``0.1 mscale ln f + 1`` and ``0.1 mscale_all_dim ln f + 1`` where both keys are there. Only
    transformers reads ``attention_factor``, only SGLang ``attn_factor``. Sources: sglang,
    layers/rotary_embedding/{factory,yarn}.py; transformers, modeling_rope_utils.py.
    """
    if engine == "transformers":
        return _transformers(rope)
    if engine == "sglang" and version is not None:
        return _sglang(rope, honoured=version >= _HONOURS_MSCALE)
    return None


def _sglang(rope: Mapping[str, Any], *, honoured: bool) -> float:
    if rope.get("type") != "yarn":
        return 1.0
    return _yarn(rope, honoured) * float(rope.get("attn_factor", 1.0))


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


def amplitudes(recipe: Recipe) -> dict[str, float]:
    """The readings of the draft's rope that are known: who reads it -> the amplitude."""
    rope = recipe.draft.rope
    return {
        "SGLang <0.5.16": _sglang(rope, honoured=False),
        "SGLang >=0.5.16": _sglang(rope, honoured=True),
        "transformers": _transformers(rope),
    }


def draft_attention_backend(argv: list[str]) -> str | None:
    """What the draft worker runs attention with; unset, it inherits the target's (SGLang 0.5.14,
    dflash_worker_v2.py)."""
    own = flag_value(argv, "--speculative-draft-attention-backend")
    return own or flag_value(argv, "--prefill-attention-backend") or flag_value(argv, "--attention-backend")


def _amplitude_differs(recipe: Recipe, profile: Profile) -> bool:
    known = amplitudes(recipe)
    return abs(known["SGLang <0.5.16"] - known["SGLang >=0.5.16"]) > 1e-6


def _fa4_draft(recipe: Recipe, profile: Profile) -> bool:
    return draft_attention_backend(profile_argv(recipe, profile)) == "fa4"


def _quantized_target(recipe: Recipe, profile: Profile) -> bool:
    return bool(recipe.target.quantization) and "quantization_config" not in recipe.draft.config


_ALL = (
    Hazard(
        code="E001",
        name="yarn-amplitude",
        engine="sglang",
        versions=SpecifierSet(),
        applies=_amplitude_differs,
        card=(
            "The YaRN amplitude (the factor on cos and sin) depends on the engine version. SGLang before "
            "0.5.16 ignores `mscale` and `mscale_all_dim` and scales by 0.1 ln(factor) + 1; SGLang 0.5.16 "
            "and later and transformers honour both keys. A draft that is served with another amplitude "
            "than it was trained with loses accept length, and nothing reports it. Do not move this draft "
            "to another engine version without measuring."
        ),
        advice="measure the accept length on both engine versions, and state draft.rope.amplitude_as_trained",
        source="sgl-project/sglang#31232, sgl-project/sglang#22711",
    ),
    Hazard(
        code="E002",
        name="fa4-needs-bf16-kv",
        engine="sglang",
        versions=SpecifierSet("<0.5.16"),
        applies=_fa4_draft,
        card=(
            "A bf16 KV cache is required, since the draft worker inherits the global KV dtype and its fa4 "
            "kernel asserts bf16 q/k/v, which also rules out the fp8-only `tokenspeed_mla` target "
            "backend: use `trtllm_mla`."
        ),
        advice="pass --kv-cache-dtype bf16",
        source="sgl-project/sglang#29218",
    ),
    Hazard(
        code="E003",
        name="quantization-inherited",
        engine="sglang",
        versions=SpecifierSet(),
        applies=_quantized_target,
        card=(
            "Do not pass `--quantization`: the draft worker copies the target's server args, and an "
            "explicit `modelopt_fp4` makes SGLang quantize the bf16 draft on the fly; left unset, the "
            "target detects NVFP4 from its own `hf_quant_config.json`. If the flag cannot be avoided, add "
            "`--speculative-draft-model-quantization unquant` (read in the source, not run)."
        ),
        advice="drop --quantization, or add --speculative-draft-model-quantization unquant",
        source="server_args.py of sglang 0.5.14 and 0.5.23",
    ),
)
HAZARDS: Mapping[str, Hazard] = {hazard.code: hazard for hazard in _ALL}
