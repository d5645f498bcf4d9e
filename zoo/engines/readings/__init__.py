"""Engine readings: what one version of an engine makes of each tensor of a draft and of its config.

A reading is a prediction from the engine's source: which class it picks, which tensors it reads, borrows,
skips or ignores, what stays uninitialised, whose layers it taps, and why it refuses. Only versions whose
source was read have one; a version between two of them is not interpolated. docs/engines.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.engines.readings import sglang, vllm
from zoo.engines.readings.model import (
    EngineProfile,
    EngineReading,
    Fate,
    LayerIds,
    Missing,
    Refusal,
    Tensors,
)
from zoo.engines.readings.sglang_eagle3 import on_target
from zoo.engines.readings.vllm_speculators import architecture_of, is_nested
from zoo.errors import UsageError
from zoo.printable import quoted

__all__ = [
    "KNOWN",
    "PROFILES",
    "EngineProfile",
    "EngineReading",
    "Fate",
    "LayerIds",
    "Missing",
    "Refusal",
    "Tensors",
    "known_or_refuse",
    "knows",
    "parse_engine",
    "reading_of",
]

PROFILES: tuple[EngineProfile, ...] = (*sglang.PROFILES, *vllm.PROFILES)
KNOWN: tuple[tuple[str, str], ...] = tuple((profile.engine, profile.version) for profile in PROFILES)
_MODULES: Mapping[str, Any] = {"sglang": sglang, "vllm": vllm}
# Architectures that only other programs than an engine know (trainers, exporters): no engine here loads them
# under this name.
_TRAINERS = (
    "DominoDraftModel",
    "Eagle3DraftModel",
    "Eagle3Speculator",
    "PEagleDraftModel",
    "PEagleSpeculator",
    "K3DSparkModel",
)


def parse_engine(text: str) -> tuple[str, str]:
    """``sglang==0.5.14`` as engine and version.

    Raises:
        UsageError: it is not NAME==VERSION, or nobody has read that version.
    """
    engine, found, version = text.partition("==")
    if not found or not engine or not version:
        raise UsageError(f"{quoted(text)} is not NAME==VERSION", hint=f"for example {_known()[0]}")
    known_or_refuse(engine, version)
    return engine, version


def known_or_refuse(engine: str, version: str) -> None:
    """Raises UsageError where there is no reading for this engine version."""
    if (engine, version) not in KNOWN:
        raise UsageError(
            f"no reading for {quoted(f'{engine} {version}')}; known are {', '.join(_known())}",
            hint="a version in between is not guessed; docs/engines.md says how to add one",
        )


def knows(engine: str, version: str, config: Mapping[str, Any]) -> bool:
    """Whether this engine version has a class for the draft of ``config``: for one of its architectures."""
    profile = next(each for each in PROFILES if (each.engine, each.version) == (engine, version))
    named = config.get("architectures")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return any(name in profile.architectures for name in names)


def _known() -> list[str]:
    return [f"{engine}=={version}" for engine, version in KNOWN]


def reading_of(
    engine: str,
    version: str,
    config: Mapping[str, Any],
    tensors: Tensors,
    *,
    target_layers: int | None = None,
    target_type: str | None = None,
) -> EngineReading:
    """What ``engine`` at ``version`` makes of a draft with this config.json and these tensors.

    ``target_layers`` is the depth of the target that the draft serves, ``target_type`` its model_type, where
    they are known. The algorithm is taken
    to be the one that the architecture belongs to. Never raises because of what config and tensors hold.

    Raises:
        UsageError: nobody has read this version.
    """
    known_or_refuse(engine, version)
    profile = next(each for each in PROFILES if (each.engine, each.version) == (engine, version))
    early = _not_readable(profile, config, tensors)
    if early is not None:
        return early
    try:
        made: EngineReading = _MODULES[engine].reading(profile, config, tensors, target_layers)
    except (ArithmeticError, AttributeError, KeyError, LookupError, TypeError, ValueError) as error:
        reason = f"a value of config.json has no meaning here ({type(error).__name__}: {error})"
        refusal = Refusal("config", reason, profile.source)
        return EngineReading(engine, version, refusals=(refusal,), fates=dict.fromkeys(tensors, Fate.REFUSED))
    return made if target_type is None or engine != "sglang" else on_target(made, target_type)


def _not_readable(
    profile: EngineProfile, config: Mapping[str, Any], tensors: Tensors
) -> EngineReading | None:
    """The answer for a draft that the engine does not know, or of which this version says nothing."""
    base = (profile.engine, profile.version)
    if is_nested(config):
        if profile.engine != "vllm":
            reason = "config.json is nested as speculators writes it, without a model_type at the top"
            refusal = Refusal("model type", reason, f"{profile.engine} has no transformer_layer_config")
            return EngineReading(*base, refusals=(refusal,), fates=dict.fromkeys(tensors, Fate.REFUSED))
        named = architecture_of(config)
        return None if named is None or named in profile.architectures else _unread(profile, named)
    stated = config.get("architectures")
    names = [name for name in stated if isinstance(name, str)] if isinstance(stated, list) else []
    if not names:
        refusal = Refusal("architecture", "config.json names no architecture", profile.source)
        return EngineReading(*base, refusals=(refusal,), fates=dict.fromkeys(tensors, Fate.REFUSED))
    if any(name in profile.architectures for name in names):
        if config.get("quantization_config") is not None:
            return _unread(profile, "a quantized draft (quantization_config)")
        return None
    unread = _MODULES[profile.engine].UNREAD[profile.version]
    drafts = {name for each in PROFILES for name in each.architectures} | set(_TRAINERS)
    if all(name in drafts and name not in unread for name in names):
        known = ", ".join(names)
        reason = f"it does not know the architecture {known}"
        refusal = Refusal("architecture", reason, profile.source)
        return EngineReading(*base, refusals=(refusal,), fates=dict.fromkeys(tensors, Fate.REFUSED))
    return _unread(profile, names[0])


def _unread(profile: EngineProfile, what: str) -> EngineReading:
    note = f"nobody has read what it makes of {what}"
    return EngineReading(profile.engine, profile.version, covered=False, notes=(note,))
