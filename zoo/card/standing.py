"""The standing of a version: which gates it has passed, and for each one that it has not, why.

Standing is a set of independent marks, not a ladder. Static and byte checks are made by ``zoo release``,
which writes their outcome into the manifest; replay, served and measured come from evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from zoo.checkpoint.jsonfile import JsonCodes, read_json
from zoo.digests import sha256_hex
from zoo.engines.hazards import ENGINE_NAMES
from zoo.errors import ReleaseRefusedError, UnreadableError
from zoo.evidence import GATE, Evidence
from zoo.recipe.model import Profile, Recipe
from zoo.release.log import read_log
from zoo.release.paths import read, refuse_links
from zoo.replay import settings as replay_settings
from zoo.results import Outcome, no_evidence
from zoo.smoke import settings as smoke_settings
from zoo.smoke.settings import REFERENCE
from zoo.workspace import Zoo

GATES = ("static", "bytes", "replay", "smoke")
TITLES = {
    "static": "Static",
    "bytes": "Every byte",
    "replay": "Replay",
    "served": "Served",
    "measured": "Measured",
}
_CODES = JsonCodes("P003", "P003", "P003")

# Records that measure without being a gate of a release.
_MEASURED = {"reference": "reference loop on a CPU,", "bench": "profile"}


@dataclass(frozen=True, slots=True)
class Gate:
    """The outcome of one gate. ``on`` says what it ran on; ``evidence`` is the record that says so, or ""."""

    gate: str
    on: str
    outcome: Outcome
    reason: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a release knows of itself: the digest of its checkpoint, and the outcome and reason of each gate.
    For a gate that was passed over, the reason is the one that a person gave (``--unchecked
    GATE=REASON``)."""

    released: bool = False
    checkpoint_digest: str | None = None
    gates: Mapping[str, tuple[Outcome, str]] = field(default_factory=dict)
    card_sha256: str | None = None


def read_standing(zoo: Zoo, recipe: Recipe) -> Standing:
    """The standing that ``release/NAME/VERSION/manifest.json`` records, or that of a version which is not
    released.

    Of ``release-manifest-1.json`` it reads the checkpoint digest, the gates and the digest of README.md.

    Raises:
        ReleaseRefusedError: the manifest is not the one that the log says was published, or is a link.
        UnreadableError: there is a manifest, and it is not one.
    """
    path = zoo.release_folder(recipe.name, recipe.version) / "manifest.json"
    raw, digests = read(zoo, path), _published(zoo, recipe)
    if raw is None and not digests:
        return Standing()
    if raw is not None and not digests:
        raise ReleaseRefusedError(
            f"{zoo.shown(path)}: the log does not say that {recipe.name} {recipe.version} was published",
            hint=f"finish the release: zoo release {recipe.name} --push; or restore the log: "
            f"git checkout -- {zoo.shown(_log(zoo, recipe))}",
        )
    if raw is None or digests != {sha256_hex(raw)}:
        raise ReleaseRefusedError(
            f"{zoo.shown(path)} is not what was published as {recipe.name} {recipe.version}",
            hint=f"restore it: git checkout -- {zoo.shown(path)}",
        )
    data, findings = read_json(path, zoo.shown(path), _CODES)
    try:
        if data is None or findings:
            raise ValueError(findings[0].message if findings else "it is empty")
        unchecked = data["unchecked"]
        gates = {
            name: (Outcome(entry["outcome"]), str(unchecked.get(name) or entry["reason"]))
            for name, entry in data["gates"].items()
        }
        files = {entry["path"]: entry["sha256"] for entry in data["files"]}
        return Standing(True, str(data["checkpoint_digest"]), gates, files["README.md"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        hint = "restore it from git: a manifest is frozen once it is written"
        raise UnreadableError(f"{zoo.shown(path)}: not a manifest: {error}", hint=hint) from None


def _log(zoo: Zoo, recipe: Recipe) -> Path:
    return zoo.release_folder(recipe.name) / "log.jsonl"


def _published(zoo: Zoo, recipe: Recipe) -> set[str]:
    """The digests of the manifest with which the log says that the recipe's version was published."""
    path = _log(zoo, recipe)
    refuse_links(zoo, path)
    return {
        str(event.get("manifest_sha256"))
        for event in read_log(path, zoo.shown(path))
        if event["event"] == "published" and event["version"] == recipe.version
    }


def gates(recipe: Recipe, evidence: tuple[Evidence, ...], standing: Standing) -> Iterator[Gate]:
    """Every gate in the order cheap to dear, one row per thing that it ran on, or should have."""
    for name in GATES[:2]:
        outcome, reason = standing.gates.get(name, (Outcome.NOT_CHECKED, ""))
        if outcome is Outcome.NOT_CHECKED and not reason:
            reason = "not recorded" if standing.released else f"runs with: zoo release {recipe.name}"
        yield Gate(name, "the checkpoint", outcome, reason)
    yield from _replay(recipe, evidence, standing)
    for profile in recipe.profiles:
        yield served(recipe, profile, evidence, standing)
    for record in evidence:
        if record.kind == "smoke" and record.subject == REFERENCE:
            yield _served(record, recipe, "reference engine on a CPU, no inference engine")
        if record.kind in _MEASURED:
            yield _from(record, "measured", f"{_MEASURED[record.kind]} {record.subject}")


def served(recipe: Recipe, profile: Profile, evidence: tuple[Evidence, ...], standing: Standing) -> Gate:
    """Whether a declared profile was ever run with this checkpoint."""
    target = recipe.target.data
    served_as = target.get("served_as", target)
    engine = f"{ENGINE_NAMES[profile.engine]} {profile.version}"
    on = f"{engine} on {profile.gpus} x {profile.gpu}"
    if not served_as["repo"].startswith("./"):  # a folder of the zoo is versioned with it
        on += f", target revision {served_as['revision'][:12]}"
    for record in evidence:
        if record.kind == "smoke" and record.subject == profile.name:
            return _served(record, recipe, on)
    tier = recipe.gates.get("smoke", {}).get("tier")
    wanted = f"; the recipe asks for tier {tier}" if tier else ""
    return Gate(
        "served", on, Outcome.NOT_CHECKED, f"no record that it ever ran{wanted}{_said(standing, 'smoke')}"
    )


def _served(record: Evidence, recipe: Recipe, on: str) -> Gate:
    """A record of a draft that was served; one that does not answer the recipe says what it found as well."""
    gate = _from(record, "served", on)
    other = "" if record.stale else not_asked_for(record, recipe)
    if not other:
        return gate
    found = str(gate.outcome).replace("_", " ")
    return replace(gate, outcome=Outcome.NOT_CHECKED, reason=f"{other} ({found} there)")


def _replay(recipe: Recipe, evidence: tuple[Evidence, ...], standing: Standing) -> Iterator[Gate]:
    found = False
    for record in evidence:
        if record.kind == "replay":
            found = True
            other = "" if record.stale else not_asked_for(record, recipe)
            gate = _from(record, "replay", f"trace {record.subject}")
            yield replace(gate, outcome=Outcome.NOT_CHECKED, reason=other) if other else gate
    if not found:
        wanted = "; the recipe asks for it" if "replay" in recipe.gates else ""
        reason = f"no record that it ever ran{wanted}{_said(standing, 'replay')}"
        yield Gate("replay", "recorded target states", Outcome.NOT_CHECKED, reason)


def not_asked_for(record: Evidence, recipe: Recipe) -> str:
    """Why a record is not one of what the recipe asks for, or "". A draft that was served on a CPU has not
    been served on eight GPUs, and one that was replayed with wider margins has not met these."""
    if record.kind == "replay" and "replay" in recipe.gates:
        return replay_settings.other_settings(recipe, record.subject, record.settings)
    if record.kind == "smoke" and "smoke" in recipe.gates:
        return smoke_settings.other_settings(recipe, record.subject, record.settings)
    return ""


def _said(standing: Standing, gate: str) -> str:
    """The reason that the release gives for a gate that was not checked, where it is more than that there is
    no record."""
    outcome, reason = standing.gates.get(gate, (Outcome.NOT_CHECKED, ""))
    more = outcome is Outcome.NOT_CHECKED and reason not in ("", no_evidence(gate))
    return f"; {reason}" if more else ""


def _from(record: Evidence, gate: str, on: str) -> Gate:
    if record.stale:
        return Gate(gate, on, Outcome.NOT_CHECKED, f"stale: {record.stale}", record.name)
    reasons = [f"{each.check.removeprefix(GATE)}: {each.reason}" for each in record.deciding if each.reason]
    return Gate(gate, on, record.outcome, "; ".join(reasons), record.name)
