"""What the releases of one version did, step by step: ``.zoo/journal/NAME-VERSION.jsonl``, one JSON line for
the beginning and one for the end of each step.

A journal lets the next run say what it continues, and a person see what a killed one had reached. Nothing is
decided by it: what is true stands at the target. It stays on this machine (the folder tells git to ignore
it), and no line holds a token.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import TargetUnusableError, ZooError
from zoo.printable import quoted
from zoo.release.paths import refuse_links
from zoo.workspace import Zoo

# A release writes some 5 kB; of a longer journal the end is read.
_READ_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The last thing that a run wrote before it stopped: the ``step``, its ``state`` (begun, done, skipped or
    failed), when, and where to."""

    step: str
    state: str
    time: str
    target: str

    @property
    def words(self) -> str:
        """Where it stopped."""
        how = {"begun": "was cut off in", "failed": "stopped at"}.get(self.state, "was cut off after")
        return f'{how} "{self.step}" ({self.time}, to {self.target})'


@dataclass(slots=True)
class Ending:
    """How a step ended, if nothing stopped it: done, or skipped."""

    state: str = "done"


class Journal:
    """The journal of ``name`` ``version``, for one run to ``target``."""

    def __init__(self, zoo: Zoo, name: str, version: str, target: str) -> None:
        """Raises ReleaseRefusedError: a part of the path is a link. TargetUnusableError: it cannot be
        written."""
        self._path = zoo.root / ".zoo" / "journal" / f"{name}-{version}.jsonl"
        self._common = {"run": secrets.token_hex(4), "target": target}
        refuse_links(zoo, self._path)
        try:
            self.unfinished = _unfinished(self._path)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            ignore = self._path.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
            self.write("run", "begun")
        except OSError as error:
            raise TargetUnusableError(
                f"{quoted(zoo.shown(self._path))} cannot be written ({error.strerror}), and a release keeps "
                "its journal there",
                hint="mend that before anything is published, then run the command again",
            ) from error

    def write(self, step: str, state: str, **facts: str) -> None:
        """Append one line, durably. Raises OSError."""
        time = datetime.now(UTC).isoformat(timespec="seconds")
        line = {"time": time, **self._common, "step": step, "state": state, **facts}
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            os.write(descriptor, json.dumps(line).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def step(self, name: str, facts: Callable[[], Mapping[str, str]]) -> Iterator[Ending]:
        """Write that the step ``name`` begins, and what becomes of it, with the ``facts`` at its end."""
        self.write(name, "begun")
        ending = Ending()
        try:
            yield ending
        except BaseException as error:
            said = error.message if isinstance(error, ZooError) else type(error).__name__
            with suppress(OSError):  # what stopped the step matters more
                self.write(name, "failed", **facts(), error=said)
            raise
        self.write(name, ending.state, **facts())

    def finish(self) -> None:
        """Write that the run reached its end."""
        self.write("run", "finished")


def _unfinished(path: Path) -> Unfinished | None:
    """Where the last run stopped, or None if it did not. A torn last line is what a crash leaves."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, path.stat().st_size - _READ_LIMIT))
            lines = read_up_to(file, _READ_LIMIT).splitlines()
    except FileNotFoundError:
        return None
    found: Unfinished | None = None
    for line in lines:
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            event: Mapping[str, Any] = json.loads(line)
            step, state = str(event["step"]), str(event["state"])
            if step == "run":
                found = None
            else:
                found = Unfinished(step, state, str(event["time"]), str(event["target"]))
    return found
