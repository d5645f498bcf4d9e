"""Downloading the files of a plan, each proved by its sha256 while it is written.

A file is written as ``.NAME.part`` and gets its name when it is complete and right. What an earlier run left
is hashed again and continued: by range, with If-Range, and only where something proves that it is the same
file: a stated sha256 that decides at the end, or the strong ETag that it had. Otherwise it begins anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.jsonfile import decode
from zoo.checkpoint.model import Checkpoint
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.pull.plan import Plan, Wanted
from zoo.remote.limits import TransientError
from zoo.remote.stream import Stream, UnprovedError, is_strong

_CHUNK = 1024 * 1024
_NOTE_LIMIT = 64 * 1024
# How often a file is begun that cannot be continued.
_BEGINNINGS = 3

Tell = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file as it was written. ``resumed``: bytes of an earlier run."""

    wanted: Wanted
    sha256: str
    resumed: int = 0


class _WrongBytesError(UnreadableError):
    """The file is complete and not the one that was stated."""


def fetch(plan: Plan, folder: Path, tell: Tell | None = None) -> tuple[Fetched, ...]:
    """Write all files of ``plan`` into ``folder``, which may hold the beginning of an earlier run, and prove
    that it is the checkpoint whose headers were read. ``tell`` gets the bytes of each chunk.

    Raises:
        UnreadableError: a file cannot be had, or is not what was stated. OSError: the disk is full, and the
            like.
    """
    found = tuple(_File(plan.checkpoint, wanted, folder, tell).fetch() for wanted in plan.files)
    for path, content in plan.texts.items():
        (folder / path).write_bytes(content)
    for file in found:
        _note(folder / file.wanted.path).unlink(missing_ok=True)
    _prove(plan, folder)
    return found


class _File:
    """One file on its way to ``folder``."""

    def __init__(self, checkpoint: Checkpoint, wanted: Wanted, folder: Path, tell: Tell | None) -> None:
        self._checkpoint, self._wanted, self._tell = checkpoint, wanted, tell
        self._path = folder / wanted.path
        self._part = _beside(self._path, ".part")
        self._note = _note(self._path)
        self._fresh = 0  # bytes that arrived in this attempt

    def fetch(self) -> Fetched:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(self._path):  # complete in an earlier run; proved once more
            self._path.replace(self._part)
        for _ in range(_BEGINNINGS - 1):
            try:
                return self._resumable()
            except UnprovedError:
                self._discard()
        try:
            return self._resumable()
        except UnprovedError:
            self._discard()
            raise

    def _resumable(self) -> Fetched:
        """The file, from what an earlier run left or, where that does not fit, anew."""
        try:
            return self._attempt()
        except TransientError:
            raise  # it may go on in a moment: what is there stays
        except UnprovedError:
            raise
        except _WrongBytesError:
            if not self._discard():
                raise
        except UnreadableError:
            # Refused at the first byte: the server has no ranges, or another file than before.
            if self._fresh or not self._discard():
                raise
        return self._attempt()

    def _discard(self) -> bool:
        """Remove what was written; whether any of it came from an earlier run, so that a new try may help."""
        resumed = self._part.exists() and self._part.stat().st_size > self._fresh
        self._part.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)
        self._fresh = 0
        return resumed

    def _attempt(self) -> Fetched:
        wanted = self._wanted
        with _opened(self._checkpoint, wanted.path) as source, _writable(self._part) as file:
            digest = hashlib.sha256()
            if isinstance(source, Stream):
                source.proved_later = wanted.sha256 is not None
            have = self._resumed(source, file, digest)
            if have < wanted.size or not have:
                self._copy(source, file, digest, wanted.size - have)
            file.flush()
            os.fsync(file.fileno())
        found = digest.hexdigest()
        if wanted.sha256 is not None and found != wanted.sha256:
            raise _WrongBytesError(
                f"{self._named} has the sha256 {found[:12]}…, and {wanted.stated_by} states "
                f"{wanted.sha256[:12]}…",
                hint="run the command again; if it stays so, do not use this source",
            )
        self._part.replace(self._path)
        return Fetched(wanted, found, have)

    def _resumed(self, source: BinaryIO, file: BinaryIO, digest: Any) -> int:
        """How many bytes of an earlier run stay, which are in ``digest`` then."""
        have = file.seek(0, os.SEEK_END)
        note = self._read_note()
        tag = source.tag if isinstance(source, Stream) else ""
        proved = self._wanted.sha256 is not None or (is_strong(tag) and note.get("tag") == tag)
        if not 0 < have <= self._wanted.size or not proved:
            file.truncate(0)
            file.seek(0)
            return 0
        if isinstance(source, Stream):
            source.resume(have, note.get("validator", ""))
        else:
            source.seek(have)
        file.seek(0)
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
        return have

    def _copy(self, source: BinaryIO, file: BinaryIO, digest: Any, left: int) -> None:
        """The rest of the file, which must be exactly ``left`` bytes."""
        buffer = memoryview(bytearray(_CHUNK))
        while left:
            count = source.readinto(buffer[: min(left, _CHUNK)])  # type: ignore[attr-defined]
            if not count:
                raise UnreadableError(f"{self._named} is shorter than it was", hint="run the command again")
            digest.update(buffer[:count])
            file.write(buffer[:count])
            if not self._fresh and isinstance(source, Stream):
                self._write_note(source)
            self._fresh, left = self._fresh + count, left - count
            if self._tell is not None:
                self._tell(count)

    def _write_note(self, source: Stream) -> None:
        """What tells the next run that the server still has this file."""
        self._note.write_text(json.dumps({"tag": source.tag, "validator": source.validator}))

    def _read_note(self) -> dict[str, str]:
        with suppress(OSError, ValueError), open_regular(self._note) as file:
            found = decode(file.read(_NOTE_LIMIT))
            if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()):
                return found
        return {}

    @property
    def _named(self) -> str:
        return f"{quoted(self._wanted.path)} of {quoted(self._checkpoint.source)}"


def _prove(plan: Plan, folder: Path) -> None:
    """Raises UnreadableError if the headers in ``folder`` are not those that the source showed."""
    written = open_checkpoint(folder, str(folder))
    ours = {file.name: file.header for file in written.weights}
    for file in plan.checkpoint.weights:
        if file.name in ours and (ours[file.name] is None or ours[file.name] != file.header):
            raise UnreadableError(
                f"the header of {quoted(file.name)} is not the one that {quoted(plan.label)} showed before",
                hint="somebody changed the source meanwhile: run the command again",
            )
    if not any(ours.values()):
        raise UnreadableError(f"{quoted(plan.label)} has no weights that can be read", hint="see: zoo verify")


def _opened(checkpoint: Checkpoint, path: str) -> BinaryIO:
    return open_regular(checkpoint.root / path) if checkpoint.opener is None else checkpoint.opener(path)


def _writable(path: Path) -> BinaryIO:
    """``path`` for reading and writing, made where it is missing; never through a link."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o644), "r+b")


def _beside(path: Path, suffix: str) -> Path:
    # A name of a release begins with no dot, so none can be in the way.
    return path.with_name(f".{path.name}{suffix}")


def _note(path: Path) -> Path:
    return _beside(path, ".part.json")
