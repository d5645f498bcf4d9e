"""What a served draft must show: ``gates.smoke`` of a recipe, with its defaults. No torch and no client here:
a card and a release read it too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from zoo.errors import UsageError
from zoo.recipe.model import Profile, Recipe

CPU = "cpu"
# What serves on tier cpu. No profile may be called so, and no record of it stands in for an engine.
REFERENCE = "reference"

# The probes, in the order of a run.
PREFLIGHT, READY, LOADED, BLOCK = "preflight", "ready", "draft-loaded", "block-size"
SPECULATING, ACCEPT_LENGTH, REPETITION = "speculating", "accept-length", "repetition"
REQUESTS, PARSERS, CONCURRENCY, LONG_CONTEXT = "requests", "parsers", "concurrency", "long-context"
MEMORY, LOG, SHUTDOWN, REPLAYED, LOSSLESS = "memory", "log", "shutdown", "replayed", "lossless"
NAMES = (
    PREFLIGHT,
    READY,
    LOADED,
    BLOCK,
    SPECULATING,
    ACCEPT_LENGTH,
    REPETITION,
    REQUESTS,
    PARSERS,
    CONCURRENCY,
    LONG_CONTEXT,
    MEMORY,
    LOG,
    SHUTDOWN,
    REPLAYED,
    LOSSLESS,
)
# What is about GPUs says nothing on tier cpu.
OF_GPUS = (PREFLIGHT, MEMORY)
# What every tier needs.
_ON_CPU = (
    READY,
    LOADED,
    BLOCK,
    SPECULATING,
    ACCEPT_LENGTH,
    REPETITION,
    CONCURRENCY,
    LOG,
    SHUTDOWN,
    REPLAYED,
    LOSSLESS,
)
_ON_GPUS = (*_ON_CPU, *OF_GPUS)
# Of a recipe, and no part of what a record means: names of files and of profiles, and how long to wait.
_NOT_COMPARED = ("profile", "limits")


@dataclass(frozen=True, slots=True)
class WaitLimits:
    """Seconds. ``start``: until a server is ready at the latest; ``no_progress``: without a new line of its
    log."""

    start: float = 3600
    no_progress: float = 600


@dataclass(frozen=True, slots=True)
class SmokeSettings:
    """``tier``: cpu (the reference engine) or Ngpu. ``profile``: the one that answers the gate, "" for any of
    that tier. ``prompts``: a file of recipes/ with one prompt a line. ``ignore_eos``: answers go on after an
    end token, so that all have the same length. ``require``: the probes that must pass.

    ``floor``: accept length - 1 below which a draft is dead. ``replay_margin``: by which part of the accept
    length served may differ from replayed; ``position_margin``: by how much the share of steps that accept a
    position may. ``tolerance``: nats by which a served token may be below the target's best; None: what the
    target needs against itself (its calibration). ``looping``: the share of answers that may repeat
    themselves. ``concurrency``: requests at once, at most. ``context``: tokens of the long prompt, with its
    answer; 0: none. ``head_room``: GiB that must stay free on each GPU. ``refuses``: kinds of requests that
    the engine answers with an error, as declared.
    """

    tier: str
    profile: str = ""
    prompts: str = ""
    max_new_tokens: int = 128
    ignore_eos: bool = False
    require: tuple[str, ...] = _ON_GPUS
    floor: float = 0.2
    replay_margin: float = 0.03
    position_margin: float = 0.03
    tolerance: float | None = None
    looping: float = 0.5
    concurrency: int = 8
    context: int = 0
    head_room: float = 1.0
    refuses: tuple[str, ...] = ()
    limits: WaitLimits = WaitLimits()

    @property
    def gpus(self) -> int:
        """How many GPUs the tier has: 0 on cpu."""
        return 0 if self.tier == CPU else int(self.tier.removesuffix("gpu"))

    def as_json(self) -> dict[str, Any]:
        """As the settings of a record, which are text and numbers; its subject is the profile."""
        stated = {field.name: getattr(self, field.name) for field in fields(self)}
        stated = {key: value for key, value in stated.items() if key not in _NOT_COMPARED}
        lists = {key: " ".join(stated[key]) for key in ("require", "refuses")}
        return stated | lists | {"tolerance": "calibrated" if self.tolerance is None else self.tolerance}


def settings_of(recipe: Recipe, tier: str | None = None) -> SmokeSettings:
    """The settings of a recipe, on its own tier or another one. Without ``gates.smoke`` the tier is that of
    the recipe's first profile."""
    stated: dict[str, Any] = dict(recipe.gates.get("smoke", {}))
    tier = tier or stated.get("tier") or f"{recipe.profiles[0].gpus}gpu"
    if re.fullmatch(r"cpu|[1-9][0-9]{0,2}gpu", tier) is None:
        raise UsageError("a tier is cpu or Ngpu", hint="e.g. --tier cpu, --tier 1gpu")
    required = stated.get("require", _ON_CPU if tier == CPU else _ON_GPUS)
    if tier == CPU:  # there are no GPUs to look at
        required = [each for each in required if each not in OF_GPUS]
    limits: Mapping[str, Any] = stated.pop("limits", {})
    known = {
        "tier": tier,
        "require": tuple(each for each in NAMES if each in required),
        "refuses": tuple(stated.get("refuses", ())),
        "limits": WaitLimits(**limits),
    }
    return SmokeSettings(**{**stated, **known})


def profile_of(recipe: Recipe, settings: SmokeSettings, named: str = "") -> Profile:
    """The profile to serve with: the named one, else that of the settings, else the first of the tier. On
    tier cpu it only says what the recipe is served with elsewhere, e.g. the block size.

    Raises:
        UsageError: the recipe has none of this name, or none with this many GPUs.
    """
    wanted = named or settings.profile
    for profile in recipe.profiles:
        if profile.name == wanted or (not wanted and settings.gpus in (0, profile.gpus)):
            if settings.gpus not in (0, profile.gpus):
                raise UsageError(
                    f"profile {profile.name} is for {profile.gpus} GPUs, tier {settings.tier} has "
                    f"{settings.gpus}",
                    hint=f"name the tier of the profile: --tier {profile.gpus}gpu",
                )
            return profile
    what = f"no profile {wanted}" if wanted else f"no profile for tier {settings.tier}"
    known = ", ".join(f"{each.name} ({each.gpus}gpu)" for each in recipe.profiles)
    raise UsageError(f"{recipe.file} declares {what}", hint=f"it has: {known}")


def other_settings(recipe: Recipe, subject: str, settings: Mapping[str, Any]) -> str:
    """Why a record of ``subject`` made with ``settings`` does not answer the recipe's gate, or "". A draft
    that was served on a CPU has not been served on eight GPUs."""
    asked = settings_of(recipe)
    ran = settings.get("tier", "unknown")
    if ran != asked.tier:
        return f"it ran on tier {ran}, not {asked.tier}"
    if asked.tier != CPU and asked.profile and asked.profile != subject:
        return f"it ran with profile {subject}, and the recipe asks for {asked.profile}"
    if settings.get("extra"):
        return f"it ran with other arguments than the profile's: {settings['extra']}"
    wrong = [key for key, value in asked.as_json().items() if settings.get(key) != value]
    return f"the recipe asks for another {', '.join(wrong)}" if wrong else ""
