"""The tolerance of a target, measured once and used again for every draft of it:
``release/targets/TARGET/calibration-PROFILE.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo import __version__
from zoo.digests import canonical_json, sha256_hex
from zoo.evidence import Evidence, read_evidence
from zoo.recipe.model import UNKNOWN, Profile, Recipe
from zoo.smoke.lossless import Calibration, calibration_from, calibration_result
from zoo.smoke.served import Absent
from zoo.workspace import Zoo

if TYPE_CHECKING:
    from zoo.evidence import Engine

KIND = "calibration"


def path_of(zoo: Zoo, recipe: Recipe, profile: Profile) -> Path:
    return zoo.root / "release" / "targets" / recipe.target.name / f"{KIND}-{profile.name}.json"


def read(path: Path, recipe: Recipe, profile: Profile, version: str) -> Calibration | Absent:
    """The calibration of an earlier run, if it is of this target, profile and engine version."""
    if not path.is_file():
        return Absent("the target was never calibrated with this profile")
    record, found = read_evidence(path, path.name)
    if record is None or found:
        return Absent(f"{path.name} cannot be used: {found[0].message if found else 'it is empty'}")
    return calibration_from(record, recipe=recipe, profile=profile, version=version)


def record(
    recipe: Recipe,
    profile: Profile,
    calibration: Calibration,
    *,
    engine: Engine,
    inputs: Mapping[str, Any],
    host: Mapping[str, Any],
    started: str,
    ended: str,
) -> Evidence:
    """The record of a calibration; it knows no draft."""
    served = recipe.target.served
    target = {"repo": served.path, "revision": served.revision or UNKNOWN}
    basis = {"target": dict(recipe.target.data), "profile": dict(profile.data), "inputs": dict(inputs)}
    return Evidence(
        kind=KIND,
        subject=profile.name,
        checkpoint_digest=sha256_hex(canonical_json(target)),
        basis_digest=sha256_hex(canonical_json(basis)),
        target=target,
        inputs=inputs,
        settings={},
        engine=engine,
        host=host,
        tool=f"draft-zoo {__version__}",
        started=started,
        ended=ended,
        results=(calibration_result(calibration, profile),),
    )
