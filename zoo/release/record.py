"""What a zoo remembers of its releases: ``release/NAME/VERSION/`` and the append-only
``release/NAME/log.jsonl``.

Both are for git. The folder holds card, manifest and notes, never weights, and is frozen once the log says
that the version was published.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from zoo.atomic import write_atomically
from zoo.checkpoint.jsonfile import MalformedJson, decode
from zoo.digests import sha256_hex
from zoo.errors import ReleaseRefusedError, TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.release import manifest as manifests
from zoo.release.durable import sync_folder
from zoo.release.manifest import Manifest
from zoo.workspace import Zoo

# The files of a release that the tool writes itself, beside the manifest.
TEXTS = ("README.md", "notes.md")
_FIELDS = ("version", "target", "ref", "manifest_sha256")


@dataclass(frozen=True, slots=True)
class Entry:
    """One publication in the log: where (``target``, ``ref``) and what (the digest of the manifest)."""

    version: str
    target: str
    ref: str
    manifest_sha256: str


def published(zoo: Zoo, name: str) -> tuple[Entry, ...]:
    """The publications of ``name``, oldest first.

    Raises:
        UnreadableError: a line of the log is not what this tool writes.
    """
    path = zoo.release_folder(name) / "log.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    entries = []
    for number, line in enumerate(lines, start=1):
        try:
            event: Any = decode(line)
        except MalformedJson:
            event = None
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            raise UnreadableError(
                f"{zoo.shown(path)}:{number}: not an event of a release log",
                hint=f"the log is append-only; compare with: git log -p -- {zoo.shown(path)}",
            )
        if event["event"] == "published":
            entries.append(Entry(*(str(event.get(key, "")) for key in _FIELDS)))
    return tuple(entries)


def frozen(zoo: Zoo, name: str, entry: Entry) -> tuple[Manifest, Mapping[str, bytes]] | None:
    """Manifest and texts of a published version as ``release/`` keeps them, or None if one of them is not
    there.

    Raises:
        ReleaseRefusedError: one of them was changed after publication.
    """
    manifest = manifest_of(zoo, name, entry.version)
    if manifest is None:
        return None
    folder = zoo.release_folder(name, entry.version)
    texts: dict[str, bytes] = {}
    expected = {path: file.sha256 for path, file in manifest.files.items() if path in TEXTS}
    for path, sha256 in {manifests.NAME: entry.manifest_sha256, **expected}.items():
        if not (folder / path).is_file():
            return None
        texts[path] = (folder / path).read_bytes()
        if sha256_hex(texts[path]) != sha256:
            raise ReleaseRefusedError(
                f"{zoo.shown(folder / path)} is not what was published as {name} {entry.version}",
                hint=f"restore it: git checkout -- {zoo.shown(folder / path)}",
            )
    del texts[manifests.NAME]
    return manifest, texts


def manifest_of(zoo: Zoo, name: str, version: str) -> Manifest | None:
    """The recorded manifest of a version, or None."""
    path = zoo.release_folder(name, version) / manifests.NAME
    return manifests.parse(path.read_bytes(), zoo.shown(path)) if path.is_file() else None


def previous(zoo: Zoo, recipe: Recipe, entries: tuple[Entry, ...]) -> Manifest | None:
    """The manifest of the release before the recipe's version, by SemVer precedence; None for a first
    release.

    Raises:
        ReleaseRefusedError: the log knows it, and its folder is gone.
    """
    before = [entry for entry in entries if precedence(entry.version) < precedence(recipe.version)]
    if not before:
        return None
    last = max(before, key=lambda entry: precedence(entry.version))
    manifest = manifest_of(zoo, recipe.name, last.version)
    if manifest is None:
        raise lost(zoo, recipe.name, last)
    return manifest


def higher(version: str, entries: tuple[Entry, ...]) -> str | None:
    """The highest released version, if it is above ``version``."""
    last = max((entry.version for entry in entries), key=precedence, default=version)
    return last if precedence(last) > precedence(version) else None


def lost(zoo: Zoo, name: str, entry: Entry) -> ReleaseRefusedError:
    """The error for a published version whose folder in ``release/`` is not complete."""
    folder = zoo.shown(zoo.release_folder(name, entry.version))
    return ReleaseRefusedError(
        f"{folder}/ lacks files, although {name} {entry.version} was published at {entry.target}",
        hint=f"restore it: git checkout -- {folder}",
    )


def probe(zoo: Zoo, name: str, version: str) -> None:
    """Look, without changing anything, whether :func:`write` can write: folder and log, or the closest folder
    above that is there.

    Raises:
        TargetUnusableError: it cannot.
    """
    log = zoo.release_folder(name) / "log.jsonl"
    for path in (zoo.release_folder(name, version), log):
        place = next(each for each in (path, *path.parents) if os.path.lexists(each))
        is_log = place == log and place.is_file()
        if not (is_log or place.is_dir()):
            problem = "is not a folder"
        elif not os.access(place, os.W_OK if is_log else os.W_OK | os.X_OK):
            problem = "cannot be written to"
        else:
            continue
        raise TargetUnusableError(
            f"{quoted(zoo.shown(place))} {problem}, and a release is recorded there",
            hint="mend that before anything is published, then run the command again",
        )


def write(zoo: Zoo, name: str, entry: Entry, manifest: Manifest, texts: Mapping[str, bytes]) -> bool:
    """Record a publication: the folder, then the log. Returns whether anything was missing."""
    folder = zoo.release_folder(name, entry.version)
    changed = False
    for path, content in {**texts, manifests.NAME: manifest.raw}.items():
        file = folder / path
        if not file.is_file() or file.read_bytes() != content:
            write_atomically(file, content)
            changed = True
    if entry in published(zoo, name):
        return changed
    event = {"event": "published", **asdict(entry), "time": datetime.now(UTC).isoformat(timespec="seconds")}
    log = zoo.release_folder(name) / "log.jsonl"
    # One write of one line: two releases at the same time cannot mix their lines (POSIX, O_APPEND).
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, json.dumps(event).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(log.parent)
    return True


def precedence(version: str) -> tuple[Any, ...]:
    """A sort key for SemVer versions (semver.org, rule 11): a pre-release comes before its release,
    numbers before words."""
    core, _, pre = version.partition("-")
    identifiers = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".") if part]
    return (*(int(part) for part in core.split(".")), not pre, identifiers)
