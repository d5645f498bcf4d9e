"""The versions of a draft: what was published, and what became of it since.

Everything comes from ``release/NAME/log.jsonl`` and the manifests beside it; nothing is asked of a target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.errors import ReleaseRefusedError, UsageError
from zoo.evidence import evidence_files, read_evidence
from zoo.printable import quoted
from zoo.release import events, record
from zoo.release.gates import GATES
from zoo.release.record import precedence
from zoo.workspace import Zoo


@dataclass(frozen=True, slots=True)
class Publication:
    """Where a version was published. ``time``: UTC, "" if the log does not say."""

    target: str
    ref: str
    tag: str
    time: str


@dataclass(frozen=True, slots=True)
class Added:
    """An evidence record beside a version: name, outcome, and when its check ended (UTC)."""

    name: str
    outcome: str
    ended: str


@dataclass(frozen=True, slots=True)
class Version:
    """One version. ``gates`` (gate -> outcome) is None where the recorded manifest is missing or is not the
    one that was published. ``yanked`` is the reason or "". ``superseded_by`` is the highest version above
    that counts, or "". ``proposed``: the pull requests at each target."""

    version: str
    manifest_sha256: str
    published: tuple[Publication, ...]
    proposed: tuple[str, ...]
    gates: Mapping[str, str] | None
    evidence: tuple[Added, ...]
    aliases: tuple[str, ...]
    yanked: str
    yanked_at: str
    superseded_by: str

    def as_json(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "manifest_sha256": self.manifest_sha256,
            "published": [
                {"target": each.target, "ref": each.ref, "tag": each.tag or None, "time": each.time or None}
                for each in self.published
            ],
            "proposed": list(self.proposed),
            "gates": None if self.gates is None else dict(self.gates),
            "evidence": [
                {"name": each.name, "outcome": each.outcome, "ended": each.ended} for each in self.evidence
            ],
            "aliases": list(self.aliases),
            "yanked": self.yanked or None,
            "yanked_at": self.yanked_at or None,
            "superseded_by": self.superseded_by or None,
        }


@dataclass(frozen=True, slots=True)
class History:
    """All versions of the draft ``name``, in the order in which the log names them first. ``changes``: what
    was done to cards since, in words, with its time."""

    name: str
    versions: tuple[Version, ...]
    changes: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        """The history as ``zoo-history/1`` (``zoo/schemas/zoo-history-1.json``)."""
        return {
            "schema": "zoo-history/1",
            "name": self.name,
            "versions": [version.as_json() for version in self.versions],
            "changes": [{"time": time or None, "change": change} for time, change in self.changes],
        }


def read_history(zoo: Zoo, name: str) -> History:
    """The history of ``name``.

    Raises:
        UsageError: nothing of this name was ever released or proposed.
        ReleaseRefusedError: a part of the record is a link. UnreadableError: it cannot be read.
    """
    raw = events.raw_events(zoo, name)
    published = record.published(zoo, name) if raw else ()
    proposed = record.proposed(zoo, name) if raw else ()
    named: dict[str, str] = {}  # version -> digest of its manifest; that of the proposal, if it is no more
    for version, sha256 in [
        *((entry.version, entry.manifest_sha256) for entry in published),
        *((each.version, each.manifest_sha256) for each in proposed),
    ]:
        named.setdefault(version, sha256)
    if not named:
        raise UsageError(f"nothing was released as {quoted(name)} in this zoo", hint="see: zoo list")
    times = [_time(event) for event in raw if event["event"] == "published"]
    reasons, pointing = events.withdrawn(zoo, name), events.aliases(zoo, name)
    yanks = {event["version"]: _time(event) for event in reversed(raw) if event["event"] == "yanked"}
    versions = tuple(
        Version(
            version=version,
            manifest_sha256=sha256,
            published=tuple(
                Publication(entry.target, entry.ref, entry.tag, time)
                for entry, time in zip(published, times, strict=True)
                if entry.version == version
            ),
            proposed=tuple(
                f"pull request {each.pull_request} at {each.target}"
                for each in proposed
                if each.version == version
            ),
            gates=_gates(zoo, name, version, sha256),
            evidence=tuple(_evidence(zoo, name, version)),
            aliases=events.aliases_of(version, pointing),
            yanked=reasons.get(version, ""),
            yanked_at=yanks.get(version, ""),
            superseded_by=successor(version, [entry.version for entry in published], reasons),
        )
        for version, sha256 in named.items()
    )
    return History(name, versions, tuple(_changes(raw)))


def successor(version: str, published: list[str], yanked: Mapping[str, str]) -> str:
    """The highest published version above ``version`` that is not yanked, or "". A pre-release replaces only
    pre-releases."""
    return max(
        (
            each
            for each in published
            if precedence(each) > precedence(version)
            and each not in yanked
            and ("-" in version or "-" not in each)
        ),
        key=precedence,
        default="",
    )


def refuse_yanked(zoo: Zoo, name: str, version: str, what: str) -> None:
    """Raises ReleaseRefusedError: ``version`` is yanked, so that it cannot be ``what`` (e.g. released)."""
    reason = events.withdrawn(zoo, name).get(version)
    if reason is not None:
        raise ReleaseRefusedError(
            f"{name} {version} is yanked and cannot be {what}: {reason}",
            hint=f"take another version; see: zoo history {name}",
        )


def _gates(zoo: Zoo, name: str, version: str, sha256: str) -> Mapping[str, str] | None:
    manifest = record.manifest_of(zoo, name, version)
    if manifest is None or manifest.sha256 != sha256:
        return None
    found = manifest.document["gates"]
    return {gate: str(found[gate]["outcome"]) for gate in GATES}


def _evidence(zoo: Zoo, name: str, version: str) -> Iterator[Added]:
    """The records beside a version; one that is refused is named as such, and ``zoo card`` says why."""
    folder = zoo.release_folder(name, version) / "evidence"
    for path in evidence_files(zoo, folder):
        found, problems = read_evidence(path, zoo.shown(path), root=zoo.root)
        if found is None or problems:
            yield Added(path.stem, "refused", "")
        else:
            yield Added(found.name, str(found.outcome), found.ended)


def _changes(raw: tuple[dict[str, Any], ...]) -> Iterator[tuple[str, str]]:
    for event in raw:
        match event:
            case {"event": "aliased", "alias": alias, "version": version, "target": target}:
                yield _time(event), f"{alias} at {target} is {version}"
            case {"event": "yanked", "version": version, "reason": reason}:
                yield _time(event), f"{version} is yanked: {reason}"
            case {"event": "card", "target": target, "ref": ref}:
                yield _time(event), f"the card at {target} was changed (commit {ref})"
            case {"event": "superseded", "repo": repo, "by": by}:
                yield _time(event), f"the card of {repo} names {by} as its successor"


def _time(event: Mapping[str, Any]) -> str:
    time = event.get("time")
    return time if isinstance(time, str) else ""
