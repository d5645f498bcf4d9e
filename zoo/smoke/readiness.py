"""Waiting until a server is ready: does its process live, does its log grow, does it answer?

Three limits, since weights of 600 GB load for half an hour and log all the while, and a start that hangs logs
nothing: the whole start, the time without progress, and one request.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from zoo.smoke.failed import is_full, last_line

# SGLang gives the one token of /health_generate 20 s (SGLANG_HEALTH_CHECK_TIMEOUT).
_HEALTH_S = 30.0
_PAUSE_S = 0.5
_LAST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. SGLang's own CI allows a start 600 to 3600 s, depending on the hardware
    (test/test_utils.py); ``stop_s`` is how long the server may take to end after SIGTERM."""

    start_s: float = 3600
    no_progress_s: float = 600
    request_s: float = 120
    stop_s: float = 60


@dataclass(frozen=True, slots=True)
class Starting:
    """How far a start is: which try, seconds since it began, bytes of the log, and its last line."""

    attempt: int
    seconds: float
    log_bytes: int
    line: str


def wait(
    url: str,
    log: Path,
    limits: Limits,
    *,
    health: str,
    alive: Callable[[], bool],
    told: Callable[[Starting], None] | None,
    attempt: int,
) -> str:
    """Wait until ``GET health`` answers 200. Returns "" then, and else in words why the wait is over: the
    server has ended, hangs, or cannot log."""
    begin = grown = time.monotonic()
    size = 0
    while True:
        if not alive():
            return "before it was ready"
        if answers(url, health, min(_HEALTH_S, limits.request_s)):
            return ""
        now = time.monotonic()
        seen = log.stat().st_size if log.exists() else 0
        if seen != size:
            size, grown = seen, now
        if told is not None:
            told(Starting(attempt, now - begin, size, _last_line(log)))
        if is_full(log.parent):
            return "could not log any more"
        if now - grown >= limits.no_progress_s:
            return f"logged nothing for {limits.no_progress_s:g} s (gates.smoke.limits, no_progress)"
        if now - begin >= limits.start_s:
            return f"was not ready after {limits.start_s:g} s (gates.smoke.limits, start)"
        time.sleep(_PAUSE_S)


def answers(url: str, path: str, timeout_s: float) -> bool:
    """Whether the server answers 200. Asked directly: a proxy of the environment is not for this machine."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _LAST_BYTES))
            return last_line(file.read().decode("utf-8", "replace")) or ""
    except OSError:
        return ""
