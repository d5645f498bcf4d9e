"""The record of a smoke test: ``smoke-PROFILE.json``, or ``smoke-reference.json`` on tier cpu, bound to the
draft's bytes, the recipe, the profile and the prompts."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from zoo import __version__
from zoo.digests import basis_digest
from zoo.evidence import GATE, Engine, Evidence, Result, basis_of
from zoo.recipe.model import UNKNOWN, Profile, Recipe
from zoo.results import Outcome
from zoo.smoke.gpus import Gpus
from zoo.smoke.log_table import diagnose
from zoo.smoke.redact import redacted, redacted_values
from zoo.smoke.settings import NAMES, OF_GPUS, REFERENCE, SmokeSettings

_LINES = 40
_OF_THE_DRAFT = re.compile(r"DFLASH|speculative_algorithm=|draft: |fired up and ready")
# What a check of a record may be called (zoo/schemas/evidence-1.json), and how long a reason may be.
_REASON = 1000


def subject_of(settings: SmokeSettings, profile: Profile) -> str:
    """Whose record it is: the profile's, or on tier cpu that of the reference engine."""
    return profile.name if settings.gpus else REFERENCE


def record(
    recipe: Recipe,
    profile: Profile,
    settings: SmokeSettings,
    *,
    digest: str,
    inputs: Mapping[str, Any],
    engine: Engine,
    gpus: Gpus | None,
    started: str,
    results: Sequence[Result],
    extra: Sequence[str],
    places: Mapping[str, str],
) -> Evidence:
    """The evidence of these results. ``gpus`` are those that served, ``extra`` arguments beside those of
    the profile; ``places`` are the words for
    paths that texts may name (``zoo.smoke.redact``)."""
    subject, stated = subject_of(settings, profile), settings.as_json()
    if extra:
        stated["extra"] = redacted(" ".join(extra), places)
    served, revision = recipe.target.served, recipe.target.served.revision
    basis = basis_of(recipe, "smoke", subject, inputs)
    return Evidence(
        kind="smoke",
        subject=subject,
        checkpoint_digest=digest,
        basis_digest=basis_digest(recipe, basis, digest, stated),
        target={"repo": served.path, "revision": revision or UNKNOWN},
        inputs=inputs,
        settings=stated,
        engine=engine,
        host=host(gpus),
        tool=f"draft-zoo {__version__}",
        started=started,
        ended=now(),
        results=tuple(_public(each, places) for each in results),
    )


def host(gpus: Gpus | None) -> dict[str, Any]:
    """What ran, without the name of the machine."""
    found: dict[str, Any] = {"gpus": [], "cpu": platform.machine()}
    if gpus is None:
        return found
    return found | {"gpus": [each.name for each in gpus.gpus], "driver": gpus.driver}


def gates(results: Iterable[Result], gpus: int) -> list[Result]:
    """The probes as gates of a record, in their order; those of GPUs not where there are none."""
    found = {each.check: each for each in results}
    names = [name for name in NAMES if name in found and (gpus or name not in OF_GPUS)]
    return [replace(found[name], check=GATE + name) for name in names]


def phases(seconds: Mapping[str, float]) -> Result:
    """How long each phase took, in seconds."""
    return Result("phases", Outcome.PASSED, "", {name: round(each, 1) for name, each in seconds.items()})


def excerpt(log: str, engine: str, version: str) -> Iterator[Result]:
    """The lines of the log that matter: those that are known, and those that speak of the draft."""
    found = [each.line for each in diagnose(log, engine, version)]
    found += [line for line in log.splitlines() if _OF_THE_DRAFT.search(line)]
    kept = list(dict.fromkeys(line.strip() for line in found))[:_LINES]
    if kept:
        said = {f"line-{number:02}": line for number, line in enumerate(kept, start=1)}
        yield Result("log/excerpt", Outcome.PASSED, "", said)


def now() -> str:
    """The time in the form of a record."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _public(result: Result, places: Mapping[str, str]) -> Result:
    reason = redacted(result.reason, places, _REASON)
    return Result(result.check, result.outcome, reason, redacted_values(result.measured, places))
