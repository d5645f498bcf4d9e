"""Reading ``release/NAME/log.jsonl``, which a pull request can change: every line is an event, or an error
that names it; and adding a line to it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.jsonfile import SIZE_LIMIT, MalformedJson, Repeated, decode
from zoo.errors import UnreadableError
from zoo.release.durable import sync_folder
from zoo.schemas import schema


def read_log(path: Path, shown: str = "") -> tuple[dict[str, Any], ...]:
    """The events of a release log, oldest first; none if there is no file. ``shown`` is how messages call it.

    Raises:
        UnreadableError: it is no regular file or too large, or a line is not what this tool writes.
    """
    shown = shown or str(path)
    hint = f"the log is append-only; compare with: git log -p -- {shown}"
    try:
        with open_regular(path) as file:
            raw = read_up_to(file, SIZE_LIMIT + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise UnreadableError(f"{shown}: cannot be read ({error.strerror})", hint=hint) from None
    if len(raw) > SIZE_LIMIT:
        raise UnreadableError(f"{shown}: larger than {SIZE_LIMIT:,} bytes", hint=hint)
    events = []
    for number, line in enumerate(raw.splitlines(), start=1):
        try:
            events.append(_event(line))
        except ValueError as error:
            reason = error.reason if isinstance(error, MalformedJson) else str(error)
            raise UnreadableError(
                f"{shown}:{number}: not an event of a release log: {reason}", hint=hint
            ) from None
    return tuple(events)


def versions(events: tuple[dict[str, Any], ...]) -> list[str]:
    """The released versions, in the order in which they were published."""
    return list(dict.fromkeys(event["version"] for event in events if event["event"] == "published"))


def append_line(log: Path, event: Mapping[str, Any]) -> None:
    """Add ``event`` to a log, durably, with the time (UTC). Raises OSError."""
    line = json.dumps({**event, "time": datetime.now(UTC).isoformat(timespec="seconds")})
    # One write of one line: two commands at the same time cannot mix their lines (POSIX, O_APPEND).
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(log, flags, 0o644)
    try:
        os.write(descriptor, line.encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(log.parent)


def _event(line: bytes) -> dict[str, Any]:
    event = decode(line)
    if not isinstance(event, dict):
        raise ValueError("it is not a JSON object")
    if isinstance(event, Repeated):
        raise ValueError("it has a key twice")
    if not isinstance(event.get("event"), str):
        raise ValueError('it has no "event"')
    if event["event"] == "published" and not is_version(event.get("version")):
        raise ValueError('its "version" is not a SemVer version, e.g. 1.0.0')
    return event


def is_version(value: object) -> bool:
    """Whether ``value`` is a SemVer version, as recipes have it."""
    semver = schema("recipe-1")["$defs"]["semver"]
    return (
        isinstance(value, str)
        and len(value) <= semver["maxLength"]
        and re.fullmatch(semver["pattern"], value) is not None
    )
