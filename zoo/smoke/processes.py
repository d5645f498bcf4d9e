"""The processes of one server: which there are, ending them, and ending them when zoo itself is gone.

A server is known by its process group, and by a mark in its environment that its children inherit: so a
helper that made a session of its own is found too. This file is also a program of its own (the watcher),
which needs nothing but the standard library.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

# The name of the variable of the environment whose value marks the processes of a server.
MARK = "ZOO_SERVER_MARK"
_PROC = Path("/proc")
_GOODBYE_S = 10.0


# Processes by their number, with the time of their start, since a number may be given again.
Seen = dict[int, int]
# Fields of /proc/PID/stat after the name: the state is the first.
_THREADS, _START = 17, 19


def members(group: int, mark: str, seen: Seen | None = None) -> tuple[int, ...]:
    """The living processes of the ``group``, its session, or with the ``mark``, and those of ``seen``, to
    which they are added: a process that is about to end has lost its environment, and may hold its GPU for
    seconds.

    A zombie is not alive, unless a thread of it is. Without /proc (macOS): the group's leader if anything of
    the group lives.
    """
    if not _PROC.joinpath("self/stat").exists():
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return ()
        return (group,)
    pids = (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    seen = {} if seen is None else seen
    return tuple(sorted(pid for pid in pids if _belongs(pid, group, mark, seen)))


def _belongs(pid: int, group: int, mark: str, seen: Seen) -> bool:
    try:
        # The name of the program, in parentheses, may hold anything: what counts comes after the last one.
        stat = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        if stat[0] in "ZX" and int(stat[_THREADS]) <= 1:
            return False
        start = int(stat[_START])
        if (
            seen.get(pid) == start
            or group in (int(stat[2]), int(stat[3]))
            or f"{MARK}={mark}".encode() in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
        ):
            seen[pid] = start
            return True
        return False
    except (OSError, ValueError):  # gone meanwhile, or of another user
        return False


def kill(group: int, mark: str, seen: Seen | None = None, *, wait_s: float = 10.0) -> tuple[int, ...]:
    """SIGKILL every process of the server, and wait until they are gone. Returns those that are not.
    ``seen``: as for :func:`members`."""
    end = time.monotonic() + wait_s
    seen = {} if seen is None else seen
    while alive := members(group, mark, seen):
        for pid in alive:
            with suppress(ProcessLookupError, PermissionError):
                if _PROC.exists():
                    os.kill(pid, signal.SIGKILL)
                else:
                    os.killpg(group, signal.SIGKILL)
        if time.monotonic() > end:
            return alive
        time.sleep(0.05)
    return ()


class Watcher:
    """A small child that ends the server when this process is gone, however it went (SIGKILL, a closed
    terminal): it reads a pipe, and the end of the pipe without a word of goodbye is the sign.

    Start it before the server, so that no server is ever unwatched for long. It leaves the server ``stop_s``
    seconds for its own way of ending.
    """

    def __init__(self, stop_s: float) -> None:
        # A session of its own: Ctrl-C in the terminal is for zoo, and the watcher outlives it.
        self._child = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).resolve()), str(stop_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def watch(self, group: int, mark: str) -> None:
        self._say(f"{group} {mark}\n")

    def dismiss(self) -> None:
        """The server has ended: nothing is left to watch."""
        self._say("done\n")
        with suppress(OSError):
            assert self._child.stdin is not None
            self._child.stdin.close()
        try:
            self._child.wait(timeout=_GOODBYE_S)
        except subprocess.TimeoutExpired:  # somebody stopped it (SIGSTOP)
            self._child.kill()
            self._child.wait()

    def _say(self, line: str) -> None:
        assert self._child.stdin is not None
        with suppress(OSError):  # a watcher that somebody ended: the server is still ours to end
            self._child.stdin.write(line.encode())
            self._child.stdin.flush()


def _watch(stop_s: float) -> None:
    watched: tuple[int, str] | None = None
    for line in sys.stdin:
        words = line.split()
        if words == ["done"]:
            return
        watched = int(words[0]), words[1]
    if watched is None:
        return
    group, mark = watched
    seen: Seen = {}
    with suppress(ProcessLookupError, PermissionError):
        os.kill(group, signal.SIGTERM)
    end = time.monotonic() + stop_s
    while members(group, mark, seen) and time.monotonic() < end:
        time.sleep(0.1)
    kill(group, mark, seen)


if __name__ == "__main__":
    _watch(float(sys.argv[1]))
