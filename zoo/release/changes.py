"""What changed since the version before, for the notes of a release: what the manifests say always, what the
configs and headers say where the files of that version are within reach, and numbers with their evidence.

Reasons hold no path and no address of a machine: the notes are published.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from zoo.diff.compare import compare
from zoo.diff.model import Change, Diff, Side
from zoo.diff.sides import facts_of, with_checkpoint
from zoo.diff.values import changes
from zoo.errors import ReleaseRefusedError, UnreadableError
from zoo.evidence import Evidence, Result, evidence_files, read_evidence
from zoo.pull.place import Release as Found
from zoo.pull.place import bytes_of, find_release, refuse_other
from zoo.recipe.model import Recipe
from zoo.release.context import Release
from zoo.release.manifest import Manifest
from zoo.release.targets import PublishingTarget
from zoo.remote.address import HUB, Remote
from zoo.remote.limits import TransientError
from zoo.sources import Sources
from zoo.workspace import Zoo

# Seconds for the headers of the version before, which a release can do without.
_PATIENCE = 30.0
# They change with every version, or say nothing to a person.
_ALWAYS = ("/version", "/recipe_digest")


@dataclass(frozen=True)
class Changes:
    """What changed since ``previous``. ``facts``: repository and target, as the manifests state them.
    ``diff``: config and tensors, or None, and then ``why`` they were not compared; ``read_from``: which files
    of the version before were read."""

    previous: Manifest
    facts: tuple[Change, ...]
    diff: Diff | None = None
    read_from: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Number:
    """An accept length that evidence ``record`` measured. ``what``: its check and conditions. ``before``: the
    same of the version before, measured alike (inputs, settings, engine), or None."""

    what: str
    accept_length: float
    record: str
    before: float | None


def changes_since(release: Release, previous: Manifest) -> Changes:
    """Compare the checkpoint of ``release`` with the files of ``previous``, by config and headers.

    Raises:
        TransientError: they are at the very hub that is released to, which is in trouble just now.
        ReleaseRefusedError: the record of ``previous`` is not what was published.
    """
    plan, recipe = release.plan, release.plan.recipe
    facts = _facts(previous, recipe)
    found = find_release(plan.zoo, f"{recipe.name}@{previous.version}")
    why = _out_of_reach(found, plan.target)
    if why:
        return Changes(previous, facts, why=why)
    ours = with_checkpoint(Side(recipe.version, "release"), release.checkpoint)
    with Sources(Remote(found.endpoint or HUB, _PATIENCE)) as sources:
        try:
            checkpoint = sources.open(bytes_of(found, found.endpoint))
            refuse_other(found, checkpoint, checkpoint.reported_sha256)
        except (UnreadableError, ReleaseRefusedError) as error:
            if isinstance(error, TransientError) and _is_there(found, plan.target):
                raise
            plan.note(f"the notes do not compare with {previous.version}: {error.message}")
            return Changes(previous, facts, why=_in_words(error))
        theirs = with_checkpoint(Side(previous.version, "release"), checkpoint)
        diff = compare(theirs, ours)
    place = "the folder that it was published to"
    if checkpoint.revision:
        place = f"{previous.document['repo']} at commit {checkpoint.revision}"
    return Changes(previous, facts, diff, place)


def _facts(previous: Manifest, recipe: Recipe) -> tuple[Change, ...]:
    ours = facts_of(recipe)["manifest"]
    theirs = {key: previous.document[key] for key in ours}
    return tuple(each for each in changes(theirs, ours) if each.pointer not in _ALWAYS)


def _out_of_reach(found: Found, target: PublishingTarget) -> str:
    """Why the files of a version are not even looked for, or ""."""
    if found.folder is None and not found.source:
        return "the place that it was published to does not have it here"
    # Only servers that the user typed, and the Hub, are contacted.
    if found.folder is None and found.endpoint and not _is_there(found, target):
        return "it was published on another hub than this version"
    return ""


def _is_there(found: Found, target: PublishingTarget) -> bool:
    """Whether ``target`` is the hub that a version was published on."""
    return found.folder is None and target.spec == (found.endpoint or "hf")


def _in_words(error: UnreadableError | ReleaseRefusedError) -> str:
    if isinstance(error, ReleaseRefusedError):
        return "what lies there is not what its manifest says"
    return "its files could not be read"


def numbers(zoo: Zoo, name: str, evidence: tuple[Evidence, ...], previous: Manifest | None) -> list[Number]:
    """The accept lengths that records which count have measured, each beside that of ``previous``."""
    before = {} if previous is None else _measured_before(zoo, name, previous)
    found = []
    for record in evidence:
        if record.stale:
            continue
        earlier = before.get(record.name)
        alike = earlier is not None and _conditions(earlier) == _conditions(record)
        lengths = dict(_lengths(earlier)) if earlier is not None and alike else {}
        for check, length in _lengths(record):
            found.append(Number(check, length, record.name, lengths.get(check)))
    return found


def _measured_before(zoo: Zoo, name: str, previous: Manifest) -> dict[str, Evidence]:
    """The records beside the version before that are about its checkpoint."""
    found = {}
    for path in evidence_files(zoo, zoo.release_folder(name, previous.version) / "evidence"):
        record, problems = read_evidence(path, zoo.shown(path), root=zoo.root)
        if record is None or problems:  # a card or a release of that version says what is wrong
            continue
        if record.checkpoint_digest == previous.document["checkpoint_digest"]:
            found[record.name] = record
    return found


def _conditions(record: Evidence) -> tuple[object, ...]:
    engine = record.engine
    return (record.target, record.inputs, record.settings, engine.name, engine.version)


def _lengths(record: Evidence) -> Iterator[tuple[str, float]]:
    for result in record.results:
        length = result.measured.get("accept_length")
        if isinstance(length, (int, float)) and not isinstance(length, bool):
            yield _what(result), float(length)


def _what(result: Result) -> str:
    said = result.measured
    words = [result.check]
    words += [f"domain {said['domain']}"] if "domain" in said else []
    words += [f"temperature {said['temperature']}"] if "temperature" in said else []
    return ", ".join(words)
