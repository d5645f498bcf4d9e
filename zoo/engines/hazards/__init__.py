"""Hazards: what goes wrong with a good draft because of a range of engine versions, mostly without a message.

A hazard *applies* to a recipe and a profile when its conditions are there, even where the profile already
steps around it: the card carries its sentence, so that whoever changes the command knows why. The rules of
``zoo.rules.engine`` and ``zoo.rules.serving`` report profiles that run into one. docs/hazards.md lists them
all.

The ranges were read in the published sglang wheels: 0.5.11, 0.5.14, 0.5.15, 0.5.15.post1, and 0.5.16 to
0.5.23.
"""

from __future__ import annotations

from collections.abc import Mapping

from zoo.engines.hazards import drafts, rope, serving
from zoo.engines.hazards.model import ENGINE_NAMES, Hazard, profile_arguments, profile_argv
from zoo.engines.hazards.rope import amplitudes, has_latent_attention, served_amplitude, yarn_amplitude

__all__ = [
    "BF16",
    "ENGINE_NAMES",
    "HAZARDS",
    "Hazard",
    "amplitudes",
    "has_latent_attention",
    "profile_arguments",
    "profile_argv",
    "served_amplitude",
    "yarn_amplitude",
]

BF16 = ("bf16", "bfloat16")

_ALL = (
    rope.YARN_AMPLITUDE,
    serving.FA4_KV,
    serving.QUANTIZATION,
    serving.GRAMMAR,
    serving.LOGPROBS,
    drafts.LAYERS_GUESSED,
    drafts.LAYER_CONVENTION,
    serving.GREEDY,
    rope.ROPE_FACTOR,
    drafts.CONFIG_CODE,
    serving.REQUEST_LIMIT,
    serving.BLACKWELL,
    rope.CONTEXT,
    drafts.LAYERS_NOT_READ,
)
HAZARDS: Mapping[str, Hazard] = {hazard.code: hazard for hazard in _ALL}
