"""What changes for a draft between two versions of an engine: readings, hazards, YaRN amplitude."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from packaging.version import Version

from zoo.engines.hazards import HAZARDS, Hazard, served_amplitude
from zoo.engines.readings import EngineReading, Fate, known_or_refuse
from zoo.engines.readings.drafts import implied_by
from zoo.engines.readings.words import sentences, spoken, title
from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.recipe.model import Profile, Recipe
from zoo.results import Where

# The arguments of a profile that decide whether a hazard bites.
_ARGUMENTS = {
    "E002": ("--speculative-draft-attention-backend", "--attention-backend", "--kv-cache-dtype"),
    "E003": ("--quantization", "--speculative-draft-model-quantization"),
}
_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changes. ``what``: reading, hazard or amplitude; ``code`` the hazard's; ``before`` and
    ``after`` in words; ``places`` the lines of the zoo that are concerned."""

    what: str
    message: str
    before: str
    after: str
    places: tuple[Where, ...]
    code: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "code": self.code,
            "message": self.message,
            "before": self.before,
            "after": self.after,
            "places": [place.as_json() for place in self.places],
        }


def parse_range(text: str) -> tuple[str, str, str]:
    """``sglang==0.5.14..0.5.23`` as engine, old version and new version.

    Raises:
        UsageError: it is not of this form, names one version twice, or one that nobody has read.
    """
    engine, found, versions = text.partition("==")
    old, dots, new = versions.partition("..")
    if not (engine and found and old and dots and new):
        hint = "for example: zoo impact sglang==0.5.14..0.5.23"
        raise UsageError(f"{quoted(text)} is not ENGINE==OLD..NEW", hint=hint)
    for version in (old, new):
        known_or_refuse(engine, version)
    if old == new:
        raise UsageError(f"{quoted(text)} names one version twice", hint="name two versions")
    return engine, old, new


def changes(recipe: Recipe, engine: str, old: str, new: str) -> tuple[Change, ...]:
    """What changes for the draft of ``recipe`` when ``engine`` goes from ``old`` to ``new``.

    Readings and amplitude are those of the draft that the recipe describes, whoever serves it; hazards are
    those of the profiles with this engine, as if they pinned the other version. Amplitude and hazards are
    compared where both versions start.
    """
    draft = implied_by(recipe)
    before, after = draft.read_by(engine, old), draft.read_by(engine, new)
    profiles = [profile for profile in recipe.profiles if profile.engine == engine]
    pins = tuple(profile.where("/engine") for profile in profiles)
    found = [*_readings(before, after, pins)]
    if before.refusals or after.refusals:
        return tuple(found)  # a version that does not start has neither amplitude nor hazards
    found += _amplitude(recipe, engine, (old, new), pins)
    for profile in profiles:
        found += _hazards(recipe, profile, (old, new))
    return tuple(found)


def _readings(before: EngineReading, after: EngineReading, pins: tuple[Where, ...]) -> Iterator[Change]:
    if before.refusals and after.refusals:
        return  # for another reason, maybe, but no draft is served by either
    if not (_serves(before) and _serves(after)):
        if before.covered or after.covered:
            yield Change("reading", "whether it starts", _stance(before), _stance(after), pins)
        return
    moved = [name for name in after.fates if before.fates.get(name) is not after.fates[name]]
    if moved:
        was, becomes = _fates(before, moved), _fates(after, moved)
        yield Change("reading", f"what becomes of {spoken(moved, after.fates)}", was, becomes, pins)
    filled = {
        name for name in {**before.missing, **after.missing} if _held(before, name) != _held(after, name)
    }
    if filled:
        first = min(filled)
        message = f"what fills {quoted(first)}" + (f" and {len(filled) - 1} more" if len(filled) > 1 else "")
        yield Change("reading", message, _held(before, first), _held(after, first), pins)
    for label, one, other in (
        ("the class that it loads as", before.loads_as, after.loads_as),
        ("the target layers that it taps", _ids(before), _ids(after)),
        ("the block size", before.block_size, after.block_size),
        ("the config keys that it never looks at", before.ignored_keys, after.ignored_keys),
    ):
        if one != other:
            yield Change("reading", label, _word(one), _word(other), pins)


def _amplitude(
    recipe: Recipe, engine: str, versions: tuple[str, str], pins: tuple[Where, ...]
) -> Iterator[Change]:
    was, becomes = (served_amplitude(recipe, engine, Version(each)) for each in versions)
    if was is not None and becomes is not None and abs(was - becomes) > _SAME:
        message = "the YaRN amplitude (the factor on cos and sin)"
        places = (recipe.where("/draft/rope"), *pins)
        yield Change("amplitude", message, f"{was:.4f}", f"{becomes:.4f}", places, "E001")


def _hazards(recipe: Recipe, profile: Profile, versions: tuple[str, str]) -> Iterator[Change]:
    old, new = (replace(profile, version=Version(version)) for version in versions)
    for hazard in HAZARDS.values():
        was, becomes = hazard.threatens(recipe, old), hazard.threatens(recipe, new)
        if was != becomes:
            message = f"hazard {hazard.code} ({hazard.name})"
            words = ("applies" if was else "does not apply", "applies" if becomes else "does not apply")
            yield Change("hazard", message, *words, _lines(profile, hazard), hazard.code)


def _lines(profile: Profile, hazard: Hazard) -> tuple[Where, ...]:
    """The pin, and the arguments that decide about the hazard."""
    wanted = _ARGUMENTS.get(hazard.code, ())
    arguments = profile.data.get("args", [])
    places = [
        profile.where(f"/args/{index}")
        for index, argument in enumerate(arguments)
        if isinstance(argument, str) and argument.split(maxsplit=1)[0].partition("=")[0] in wanted
    ]
    return (profile.where("/engine"), *places)


def _serves(reading: EngineReading) -> bool:
    return reading.covered and not reading.refusals


def _stance(reading: EngineReading) -> str:
    if _serves(reading):
        return f"{title(reading)} serves it as {reading.algorithm}"
    return sentences(reading)[0].removesuffix(".")


def _fates(reading: EngineReading, names: list[str]) -> str:
    found = {str(reading.fates.get(name, Fate.IGNORED)) for name in names}
    return " or ".join(sorted(found))


def _held(reading: EngineReading, name: str) -> str:
    held = reading.missing.get(name)
    return "a tensor of the draft, or nothing" if held is None else str(held)


def _ids(reading: EngineReading) -> str:
    ids = reading.layer_ids
    if ids is None or ids.after is None:
        return "made up from the target" if ids is not None and ids.guessed else "none"
    return ", ".join(map(str, ids.after)) + (" (guessed)" if ids.guessed else "")


def _word(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
