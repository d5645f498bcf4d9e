"""A server that zoo starts, waits for, and leaves no trace of.

    with serving(command, environment=profile.environment, log=log, limits=Limits()) as server:
        server.url, server.log_text()
    server.stop()      # what became of it, also after the block

The command is an argv list and never a shell. The server gets a process group of its own, its output goes
into a file, and whatever ends the block (an error, Ctrl-C, SIGTERM) ends the server: SIGTERM to its main
process, and SIGKILL for all of it when that was not enough. A watcher does the same if zoo itself is killed.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.smoke import ports, processes, readiness
from zoo.smoke.failed import ServerFailedError, failure, read_log
from zoo.smoke.readiness import Limits, Starting

__all__ = ["Limits", "Server", "ServerFailedError", "Starting", "Stopped", "serving", "start", "with_python"]

# Starts that collide with another server's ports are tried so often in all.
ATTEMPTS = 3
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
# vLLM 0.33.0 has no request of its own behind a health check.
_HEALTH = {"vllm": "/health"}
# A server whose scheduler died takes a moment to end (SGLang looks after it once a second, then kills the
# tree), and a moment more once its port is closed.
_ENDING_S, _CLOSED_S = 2.0, 5.0


@dataclass(frozen=True, slots=True)
class Stopped:
    """How a server ended. ``forced``: SIGTERM was not enough; ``by_itself``: it had ended before it was asked
    to; ``survivors``: processes that even SIGKILL did not end."""

    exit_code: int | None
    seconds: float
    forced: bool
    by_itself: bool
    port_closed: bool
    survivors: tuple[int, ...]

    @property
    def clean(self) -> bool:
        """SGLang ends its own process tree with SIGKILL after SIGTERM, itself included: -9 is clean too."""
        ended = self.exit_code in (0, -signal.SIGTERM, -signal.SIGKILL, 128 + signal.SIGTERM)
        return ended and not self.forced and not self.by_itself and self.port_closed and not self.survivors


class Server:
    """A running server. Made by :func:`start`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        watcher: processes.Watcher,
        mark: str,
        *,
        argv: tuple[str, ...],
        url: str,
        log: Path,
        limits: Limits,
        engine: str | None,
        version: str | None,
    ) -> None:
        self.argv, self.url, self.log, self.limits = argv, url, log, limits
        self.engine, self.version = engine, version
        self._process, self._watcher, self._mark = process, watcher, mark
        self._seen: processes.Seen = {}
        self._stopped: Stopped | None = None

    @property
    def pid(self) -> int:
        """The main process, whose number is also that of the process group."""
        return self._process.pid

    @property
    def pids(self) -> tuple[int, ...]:
        """All living processes of the server; whoever was one stays one to its end."""
        return processes.members(self.pid, self._mark, self._seen)

    @property
    def port(self) -> int:
        return _address(self.url)[1]

    def alive(self) -> bool:
        return self._process.poll() is None

    def log_text(self) -> str:
        """The log so far; of a very long one the beginning and the end."""
        return read_log(self.log)

    def failed(self, what: str) -> ServerFailedError:
        """The error that says why the server failed; ``what`` says when."""
        return failure(
            what, log=self.log, exit_code=self._process.poll(), engine=self.engine, version=self.version
        )

    def check(self) -> None:
        """Raise ServerFailedError if the server has ended by itself."""
        if self._stopped is None and not self.alive():
            raise self.failed("in the middle of the run")

    def wait_ready(self, told: Callable[[Starting], None] | None = None, attempt: int = 1) -> float:
        """Wait until the server answers. Returns the seconds that this took.

        Raises:
            ServerFailedError: it ended, or a limit is over. It may still run: stop it.
            PortInUseError: another process answers on its port.
        """
        begin = time.monotonic()
        health = _HEALTH.get(self.engine or "", "/health_generate")
        why = readiness.wait(
            self.url, self.log, self.limits, health=health, alive=self._lives, told=told, attempt=attempt
        )
        if why:
            raise self.failed(why)
        answering = ports.listeners(self.port)
        if answering and not set(answering) & set(self.pids):
            raise ports.in_use(*_address(self.url))
        return time.monotonic() - begin

    def stop(self) -> Stopped:
        """End the server, and say how it ended. A second call gives the same answer."""
        if self._stopped is not None:
            return self._stopped
        begin = time.monotonic()
        by_itself = not self._lives()
        forced = False
        try:
            if not by_itself:
                with suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGTERM)
                forced = not self._gone_within(self.limits.stop_s)
        finally:  # also when Ctrl-C cuts the wait short
            survivors = processes.kill(self.pid, self._mark, self._seen)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)
            if not survivors:
                self._watcher.dismiss()
        self._stopped = Stopped(
            exit_code=self._process.poll(),
            seconds=time.monotonic() - begin,
            forced=forced,
            by_itself=by_itself,
            port_closed=_closed(*_address(self.url)),
            survivors=survivors,
        )
        return self._stopped

    def dying(self) -> bool:
        """Whether the server has ended by itself, or does so in the next moment."""
        if self._stopped is not None:
            return False
        begin = time.monotonic()
        while self.alive():
            waited = time.monotonic() - begin
            if waited > _CLOSED_S or (waited > _ENDING_S and ports.is_open(*_address(self.url))):
                return False
            time.sleep(0.1)
        return True

    def _lives(self) -> bool:
        """As :meth:`alive`, with a look at the whole tree, which is known then even while it ends."""
        processes.members(self.pid, self._mark, self._seen)
        return self.alive()

    def _gone_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.alive() or self.pids:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        return True


def start(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    log: Path,
    limits: Limits,
    url: str,
    engine: str | None = None,
    version: str | None = None,
) -> Server:
    """Start a server that will answer at ``url``; it is not ready yet.

    ``environment`` goes over that of zoo. ``log`` is written anew. ``engine`` and ``version`` choose the
    known log messages.

    Raises:
        PortInUseError: something listens there already. Nothing was started.
        UsageError: the program is not there, or may not be run.
        OSError: the log cannot be written.
    """
    ports.ensure_free(*_address(url))
    mark = secrets.token_hex(8)
    # Unbuffered, so that the log grows while the server works. And with "python -m" no module comes from the
    # folder that the caller happens to be in (Python 3.11); PYTHONPATH is the user's to set.
    merged = {
        "PYTHONUNBUFFERED": "1",
        "PYTHONSAFEPATH": "1",
        **os.environ,
        **environment,
        processes.MARK: mark,
    }
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        watcher = processes.Watcher(limits.stop_s)
        try:
            process = subprocess.Popen(
                list(argv),
                env=merged,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            watcher.watch(process.pid, mark)
        except BaseException as error:
            watcher.dismiss()
            if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError):
                raise UsageError(
                    f"the program {quoted(argv[0])} of the launch command cannot be run: {error.strerror}",
                    hint="install the engine, or name its interpreter: --python /path/to/venv/bin/python",
                ) from error
            raise
    return Server(
        process,
        watcher,
        mark,
        argv=tuple(argv),
        url=url,
        log=log,
        limits=limits,
        engine=engine,
        version=version,
    )


@contextmanager
def serving(
    command: Callable[[int], Sequence[str]],
    *,
    environment: Mapping[str, str],
    log: Path,
    limits: Limits,
    host: str = "127.0.0.1",
    port: int | None = None,
    engine: str | None = None,
    version: str | None = None,
    told: Callable[[Starting], None] | None = None,
) -> Iterator[Server]:
    """A server that is ready. ``command`` makes the argv for a port; without ``port`` a free one is taken.

    A start whose ports collide with those of another process is repeated, :data:`ATTEMPTS` times in all, and
    the log of the earlier one kept beside ``log``. An error of the block is replaced by the reason why the
    server died, where it did.

    Raises:
        ServerFailedError: the server did not become ready, or died meanwhile.
        PortInUseError, UsageError, OSError: as :func:`start`.
    """
    server: Server | None = None
    try:
        for attempt in range(1, ATTEMPTS + 1):
            chosen = ports.free_port(host) if port is None else port
            server = start(
                command(chosen),
                environment=environment,
                log=log,
                limits=limits,
                url=ports.url_of(host, chosen),
                engine=engine,
                version=version,
            )
            try:
                server.wait_ready(told, attempt)
                break
            except (ServerFailedError, ports.PortInUseError) as error:
                server.stop()
                if attempt == ATTEMPTS or not _collided(error, fixed=port is not None):
                    raise
                log.replace(log.with_name(f"{log.stem}.{attempt}{log.suffix}"))
        assert server is not None
        try:
            yield server
        except Exception as error:
            if not isinstance(error, ServerFailedError) and server.dying():
                raise server.failed("in the middle of the run") from error
            raise
    finally:
        if server is not None:
            server.stop()


def with_python(argv: Sequence[str], python: str | None) -> tuple[list[str], dict[str, str]]:
    """``argv`` with ``python`` in the place of its interpreter, and what that adds to the environment.

    An entry point (``sglang``, ``vllm``) stays, and is found beside ``python``, which comes first in PATH.
    """
    if python is None:
        return list(argv), {}
    if _PYTHON.fullmatch(argv[0]):
        argv = [python, *argv[1:]]
    # Not resolved: the link in the folder of a virtual environment is what makes it one.
    folder = str(Path(python).absolute().parent)
    return list(argv), {"PATH": os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])}


def _collided(error: Exception, *, fixed: bool) -> bool:
    """Whether a port was taken between being found free and being used. A ``fixed`` port stays taken."""
    if isinstance(error, ServerFailedError):
        names = {each.known.name for each in error.found}
        return "rendezvous-in-use" in names or (not fixed and "address-in-use" in names)
    return not fixed


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


def _closed(host: str, port: int) -> bool:
    end = time.monotonic() + 5
    while ports.is_open(host, port):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
