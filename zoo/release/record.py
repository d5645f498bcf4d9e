"""What a zoo remembers of its releases: ``release/NAME/VERSION/`` and the append-only
``release/NAME/log.jsonl``.

Both are for git. The folder holds card, manifest and notes, never weights, and is frozen once the log says
that the version was published.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from zoo.atomic import write_atomically
from zoo.digests import sha256_hex
from zoo.errors import ReleaseRefusedError, TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.release import manifest as manifests
from zoo.release.log import append_line, is_version, read_log
from zoo.release.manifest import Manifest
from zoo.release.paths import is_plot, read, refuse_links
from zoo.workspace import Zoo

# The files of a release that the tool writes itself, beside the manifest and the plots of the card.
TEXTS = ("README.md", "notes.md", manifests.PROVENANCE)
_FIELDS = ("version", "target", "ref", "manifest_sha256")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One publication in the log: where (``target``, ``ref``) and what (the digest of the manifest)."""

    version: str
    target: str
    ref: str
    manifest_sha256: str
    tag: str = ""

    event: ClassVar[str] = "published"


@dataclass(frozen=True, slots=True)
class Proposed:
    """One proposal in the log: ``ref`` is the commit of the ``pull_request`` with this number."""

    version: str
    target: str
    ref: str
    manifest_sha256: str
    pull_request: int

    event: ClassVar[str] = "proposed"


def is_written(path: str) -> bool:
    """Whether a file of a manifest is one that the tool writes, and not one of the checkpoint."""
    return path in TEXTS or is_plot(path)


def published(zoo: Zoo, name: str) -> tuple[Entry, ...]:
    """The publications of ``name``, oldest first.

    Raises:
        ReleaseRefusedError: the log, or a folder above it, is a link.
        UnreadableError: a line of the log is not what this tool writes.
    """
    entries = _events(zoo, name, Entry.event)
    return tuple(Entry(*fields, str(event.get("tag", ""))) for fields, event in entries)


def proposed(zoo: Zoo, name: str) -> tuple[Proposed, ...]:
    """The proposals of ``name``, oldest first. Raises as :func:`published` does."""
    found = []
    for fields, event in _events(zoo, name, Proposed.event):
        number = event.get("pull_request")
        if type(number) is not int or number < 1 or not is_version(fields[0]):
            raise UnreadableError(
                f'{zoo.shown(_log(zoo, name))}: a proposal needs a SemVer "version" and a "pull_request"',
                hint=f"the log is append-only; compare with: git log -p -- {zoo.shown(_log(zoo, name))}",
            )
        found.append(Proposed(*fields, number))
    return tuple(found)


def _events(zoo: Zoo, name: str, kind: str) -> list[tuple[tuple[str, str, str, str], dict[str, Any]]]:
    """The events of one ``kind``: the four fields that all have, and the whole event."""
    path = _log(zoo, name)
    refuse_links(zoo, path)
    entries = []
    for number, event in enumerate(read_log(path, zoo.shown(path)), start=1):
        if event["event"] != kind:
            continue
        values = [event.get(key) for key in _FIELDS]
        wrong = [key for key, value in zip(_FIELDS, values, strict=True) if not isinstance(value, str)]
        if wrong or not _SHA256.fullmatch(event["manifest_sha256"]):
            key = wrong[0] if wrong else "manifest_sha256"
            raise UnreadableError(
                f'{zoo.shown(path)}:{number}: not an event of a release log: its "{key}" is not what a '
                "release writes",
                hint=f"the log is append-only; compare with: git log -p -- {zoo.shown(path)}",
            )
        version, target, ref, sha256 = map(str, values)
        entries.append(((version, target, ref, sha256), event))
    return entries


def frozen(zoo: Zoo, name: str, entry: Entry | Proposed) -> tuple[Manifest, Mapping[str, bytes]] | None:
    """Manifest and texts of a published or proposed version as ``release/`` keeps them, or None if one of
    them is not there.

    Raises:
        ReleaseRefusedError: one of them was changed since.
    """
    manifest = manifest_of(zoo, name, entry.version)
    if manifest is None:
        return None
    folder = zoo.release_folder(name, entry.version)
    texts: dict[str, bytes] = {}
    expected = {path: file.sha256 for path, file in manifest.files.items() if is_written(path)}
    for path, sha256 in {manifests.NAME: entry.manifest_sha256, **expected}.items():
        content = read(zoo, folder / path)
        if content is None:
            return None
        texts[path] = content
        if sha256_hex(content) != sha256:
            raise ReleaseRefusedError(
                f"{zoo.shown(folder / path)} is not what was {entry.event} as {name} {entry.version}",
                hint=f"restore it: git checkout -- {zoo.shown(folder / path)}",
            )
    del texts[manifests.NAME]
    return manifest, texts


def manifest_of(zoo: Zoo, name: str, version: str) -> Manifest | None:
    """The recorded manifest of a version, or None."""
    path = zoo.release_folder(name, version) / manifests.NAME
    raw = read(zoo, path)
    return None if raw is None else manifests.parse(raw, zoo.shown(path))


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
    above that is there, and each file.

    Raises:
        ReleaseRefusedError: a link is in the way.
        UnreadableError: something else than a file lies where a file belongs.
        TargetUnusableError: it cannot.
    """
    folder, log = zoo.release_folder(name, version), _log(zoo, name)
    for file in (*TEXTS, manifests.NAME):
        read(zoo, folder / file)
    for path in (folder, log):
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


def write(
    zoo: Zoo, name: str, entry: Entry | Proposed, manifest: Manifest, texts: Mapping[str, bytes]
) -> bool:
    """Record a publication or a proposal: the folder, then the log. Returns whether anything was missing."""
    folder = zoo.release_folder(name, entry.version)
    changed = False
    for path, content in {**texts, manifests.NAME: manifest.raw}.items():
        file = folder / path
        if read(zoo, file) != content:
            write_atomically(file, content)
            changed = True
    return append(zoo, name, entry) or changed


def append(zoo: Zoo, name: str, entry: Entry | Proposed) -> bool:
    """Add one line to the log, unless it says so already. Returns whether it did not."""
    if entry in (*published(zoo, name), *proposed(zoo, name)):
        return False
    fields = {key: value for key, value in asdict(entry).items() if value != ""}
    append_line(_log(zoo, name), {"event": entry.event, **fields})
    return True


def _log(zoo: Zoo, name: str) -> Path:
    return zoo.release_folder(name) / "log.jsonl"


def precedence(version: str) -> tuple[Any, ...]:
    """A sort key for SemVer versions (semver.org, rule 11): a pre-release comes before its release,
    numbers before words."""
    core, _, pre = version.partition("-")
    identifiers = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".") if part]
    return (*(int(part) for part in core.split(".")), not pre, identifiers)
