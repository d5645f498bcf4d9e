"""Rotary positions: what a config means in frequencies and amplitude, under one reading.

The frequencies are those of transformers, in its order of operations in float32, so that they are the same
bits: modeling_rope_utils.py of transformers 5.24.0. SGLang 0.5.14 and 0.5.23 (layers/rotary_embedding) and
vLLM 0.33.0 compute the same frequencies; the amplitude is what readings differ in
(``zoo.engines.hazards.rope``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from packaging.version import Version
from torch import Tensor

from zoo.engines.hazards.rope import yarn_amplitude
from zoo.printable import quoted
from zoo.replay.reference import Engine, NoReferenceError

_DEFAULT_THETA = 10000.0


@dataclass(frozen=True, slots=True)
class Rope:
    """``inverse_frequencies`` are half as many as a head has dimensions; ``amplitude`` multiplies cos and
    sin, of queries and of keys."""

    inverse_frequencies: tuple[float, ...]
    amplitude: float = 1.0

    def table(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Cosines and sines [*positions, head dim] for integer positions."""
        inverse = torch.tensor(self.inverse_frequencies, dtype=torch.float32, device=positions.device)
        angles = positions[..., None].float() * inverse.repeat(2)
        return (angles.cos() * self.amplitude).to(dtype), (angles.sin() * self.amplitude).to(dtype)


def rope_of(config: Mapping[str, Any], head_dim: int, engine: Engine | None) -> Rope:
    """The rope of a config.json with ``rope_theta`` and ``rope_scaling``, or (transformers 5) with
    ``rope_parameters``. Where both blocks are there, transformers takes ``rope_scaling``, and so does this.

    Raises:
        NoReferenceError: a type of rope other than default, linear, llama3 and yarn, a rotation of a part of
            the head, or a value that is missing.
    """
    rope = _parameters(config)
    kind = rope["type"]
    # As transformers: rotated parts, other orders and multimodal positions are other formulas.
    for key, plain in (
        ("partial_rotary_factor", 1.0),
        ("mrope_section", None),
        ("extrapolation_factor", 1.0),
    ):
        stated = rope.get(key, config.get(key))
        if stated is not None and stated != plain:
            raise NoReferenceError(f"no reference for {key} {quoted(str(stated))} in config.json")
    if config.get("rope_is_neox_style", config.get("is_neox_style", True)) is not True:
        raise NoReferenceError("no reference for rope that rotates neighbours (rope_is_neox_style false)")
    make = _FREQUENCIES.get(kind)
    if make is None:
        raise NoReferenceError(f"no reference for rope of type {quoted(str(kind))}")
    theta = float(rope["rope_theta"])
    exponents = torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim
    try:
        made = make(theta**exponents, theta, rope)
        amplitude = _amplitude(rope, engine)
    except KeyError as error:
        raise NoReferenceError(f"rope of type {kind} without {error.args[0]} in config.json") from None
    if not made.isfinite().all() or not math.isfinite(amplitude):
        raise NoReferenceError(f"rope of type {kind} with frequencies or an amplitude that are not finite")
    return Rope(tuple(made.tolist()), amplitude)


def _parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """The one dict of rope keys, with ``type``, ``rope_theta`` and ``original_max_position_embeddings``."""
    block = config.get("rope_scaling") or config.get("rope_parameters") or {}
    theta = block.get("rope_theta", config.get("rope_theta"))
    longest = config.get("original_max_position_embeddings", config.get("max_position_embeddings"))
    made = {"rope_theta": _DEFAULT_THETA if theta is None else theta}
    if longest is not None:
        made["original_max_position_embeddings"] = longest
    made |= {key: value for key, value in block.items() if value is not None}
    made["type"] = block.get("rope_type", block.get("type", "default"))
    return made


def _amplitude(rope: Mapping[str, Any], engine: Engine | None) -> float:
    # vLLM 0.33.0 passes mscale, mscale_all_dim and attention_factor on and computes as transformers does
    # (layers/rotary_embedding/__init__.py, yarn_scaling_rope.py).
    name, version = ("transformers", None) if engine is None or engine[0] == "vllm" else engine
    found = yarn_amplitude(rope, name, None if version is None else Version(version))
    if found is None:
        raise NoReferenceError(f"nobody has read what amplitude of rope {name} {version} takes")
    return found


def _default(powers: Tensor, theta: float, rope: Mapping[str, Any]) -> Tensor:
    return 1.0 / powers


def _linear(powers: Tensor, theta: float, rope: Mapping[str, Any]) -> Tensor:
    return 1.0 / powers / float(rope["factor"])


def _llama3(powers: Tensor, theta: float, rope: Mapping[str, Any]) -> Tensor:
    """Long waves are slowed down by ``factor``, short ones stay, those between are blended."""
    factor, low, high = rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"]
    longest = rope["original_max_position_embeddings"]
    plain = 1.0 / powers
    waves = 2 * math.pi / plain
    slowed = torch.where(waves > longest / low, plain / factor, plain)
    share = (longest / waves - low) / (high - low)
    blended = (1 - share) * slowed / factor + share * slowed
    between = ~(waves < longest / high) & ~(waves > longest / low)
    return torch.where(between, blended, slowed)


def _yarn(powers: Tensor, theta: float, rope: Mapping[str, Any]) -> Tensor:
    """NTK by parts: dimensions that turn more than ``beta_fast`` times over the original length stay, those
    that turn less than ``beta_slow`` times are slowed down by ``factor``, with a ramp between."""
    factor, longest = float(rope["factor"]), float(rope["original_max_position_embeddings"])
    half: int = powers.numel()

    def dimension(turns: float) -> float:
        return (2 * half * math.log(longest / (turns * 2 * math.pi))) / (2 * math.log(theta))

    low, high = dimension(rope.get("beta_fast") or 32), dimension(rope.get("beta_slow") or 1)
    if rope.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, 2 * half - 1)
    width = (high - low) or 0.001  # as transformers, against a division by zero
    kept = 1 - ((torch.arange(half, dtype=torch.float32) - low) / width).clamp(0, 1)
    return 1.0 / (factor * powers) * (1 - kept) + 1.0 / powers * kept


_FREQUENCIES: Mapping[str, Callable[[Tensor, float, Mapping[str, Any]], Tensor]] = {
    "default": _default,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}
