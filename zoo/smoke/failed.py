"""Why a server ended or never came up: one line with the cause, one with what to do next."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path

from zoo.errors import ZooError
from zoo.printable import printable
from zoo.smoke.log_table import Found, diagnose

# What is read of a log: its beginning (arguments, start) and its end (what went wrong).
_HEAD, _TAIL = 2 * 1024 * 1024, 8 * 1024 * 1024
# Below this nothing can be logged any more: a line of a server, with room for the block that it takes.
_NO_SPACE = 64 * 1024
# SGLang kills its own process tree with SIGKILL when one of its processes meets an error.
_SELF = "Received sigquit from a child process"
# The last line of a traceback: CPython writes the qualified name of the exception, a colon and its text.
_EXCEPTION = re.compile(r"^(?:\[[^\]]*\] )?((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Failure)\b: .+)")


class ServerFailedError(ZooError):
    """The server ended by itself, or did not become ready in its time. ``found`` are the known messages of
    its log, the cause first; ``exit_code`` as subprocess gives it, None while it runs."""

    def __init__(
        self, message: str, *, hint: str, exit_code: int | None, found: tuple[Found, ...], blame: str
    ) -> None:
        super().__init__(message, hint=hint)
        self.exit_code = exit_code
        self.found = found
        # A finding about what was to be served, or a reason why nothing could be said about it.
        self.exit_status = 1 if blame in ("draft", "command") else 2


def failure(
    what: str, *, log: Path, exit_code: int | None, engine: str | None = None, version: str | None = None
) -> ServerFailedError:
    """The error for a server that failed. ``what`` says when, as in "before it was ready"."""
    text = read_log(log)
    found = diagnose(text, engine, version)
    ending = [each for each in found if each.known.ends_server]
    found = (*ending, *(each for each in found if each not in ending))
    where = f"log: {printable(str(log))}"
    told = f"{said(exit_code)} {what}; {where}"
    read = f"read the end of the log: tail -n 50 {printable(str(log))}"
    if is_full(log.parent):
        cause = f"no space is left on the disk of the log, {printable(str(log.parent))}"
        advice, blame = "free some space, or let --out name another place", "machine"
    elif ending:
        cause, advice, blame = ending[0].known.cause, ending[0].known.advice, ending[0].known.blame
        cause = f"{cause}: {_short(ending[0].line)}"
    elif exit_code in (-signal.SIGKILL, -signal.SIGTERM) and _SELF not in text:
        cause = "the server was killed from outside, its log says nothing of why"
        advice = (
            "look for the out-of-memory killer (dmesg -T | grep -i 'killed process'), a limit of the job, or "
            "a person; then run it again"
        )
        blame = "machine"
    elif error := last_exception(text):
        cause, advice, blame = _short(error), read, "engine"
    else:
        hangs = exit_code is None
        known = "the start hangs" if hangs else "cause unknown"
        cause = f"{known}, the last line of its log is: {_short(last_line(text) or '-')}"
        more = "; if it was still loading, allow more time in gates.smoke.limits of the recipe"
        advice, blame = read + more * hangs, "engine"
    return ServerFailedError(f"{cause} ({told})", hint=advice, exit_code=exit_code, found=found, blame=blame)


def said(exit_code: int | None) -> str:
    """The end of the server in words."""
    if exit_code is None:
        return "the server runs, and"
    if exit_code < 0:
        name = (
            signal.Signals(-exit_code).name if -exit_code in set(signal.Signals) else f"signal {-exit_code}"
        )
        return f"the server was ended by {name}"
    return f"the server ended with status {exit_code}"


def read_log(log: Path) -> str:
    """The text of the log; of a long one the beginning and the end. "" if there is none."""
    try:
        with log.open("rb") as file:
            head = file.read(_HEAD)
            size = file.seek(0, 2)
            start = max(_HEAD, size - _TAIL)
            file.seek(start)
            tail = file.read(_TAIL)
    except OSError:
        return ""
    cut = b"\n" if start > _HEAD else b""
    return (head + cut + tail).decode("utf-8", "replace")


def last_exception(text: str) -> str | None:
    """The last line that ends a traceback."""
    return next((match[1] for line in reversed(text.splitlines()) if (match := _EXCEPTION.match(line))), None)


def last_line(text: str) -> str | None:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), None)


def is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _NO_SPACE
    except OSError:
        return False


def _short(line: str) -> str:
    return printable(line.strip(), keep="", limit=200)
