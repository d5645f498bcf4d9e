"""Run ``zoo`` in processes that can be killed before or after any step of a release.

One process imports ``zoo`` once and is forked for every run, so that a thousand runs take minutes. A run is a
process of its own, with its own memory, files and environment; the product knows nothing of this.
``python -m tests.reliability.kill SOCKET`` is the process that is forked. Each connection to its socket is a
:class:`Launcher`: it sends one JSON object a line, and is told the id of the process that was started, and
then its exit status.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# Nothing of tests/conftest.py: importing it switches the client offline, here and in every run.
REPOSITORY = Path(__file__).parents[2]
TIME_LIMIT = 180  # seconds for one run


@dataclass(frozen=True)
class Ran:
    """What a run gave: exit status (-9: it was killed), stdout and stderr."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class KillAt:
    """SIGKILL "before" or "after" the step ``step``."""

    step: str
    when: str


class Launcher:
    """Starts ``zoo``, one run at a time. ``folder`` holds what the runs print."""

    def __init__(self, connection: socket.socket, folder: Path) -> None:
        self._connection = connection
        self._lines = connection.makefile("rw")
        self._folder = folder
        folder.mkdir(parents=True)
        self.pid = 0

    def run(self, *args: str, kill: KillAt | None = None) -> Ran:
        """Run ``zoo ARGS``."""
        out, err = self._folder / "out", self._folder / "err"
        order = {"args": args, "out": str(out), "err": str(err)}
        if kill is not None:
            order |= {"step": kill.step, "when": kill.when}
        self._write(json.dumps(order))
        self.pid = int(self._read())
        timer = threading.Timer(TIME_LIMIT, self.kill)
        timer.start()
        status = int(self._read())
        timer.cancel()
        self.pid = 0
        return Ran(status, out.read_text(), err.read_text())

    def kill(self) -> None:
        """SIGKILL for the run that is under way."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self._lines.close()
        self._connection.close()

    def _write(self, line: str) -> None:
        self._lines.write(line + "\n")
        self._lines.flush()

    def _read(self) -> str:
        line = self._lines.readline()
        assert line, "the process that starts the runs died"
        return line


@contextmanager
def launchers(number: int, env: Mapping[str, str], folder: Path) -> Iterator[tuple[Launcher, ...]]:
    """``number`` of them, for runs with ``env``. What a killed run leaves behind is below ``folder``."""
    path = folder / "zoo.socket"
    argv = [sys.executable, "-m", "tests.reliability.kill", str(path)]
    env = {**env, "TMPDIR": str(folder)}
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=env)
    made: list[Launcher] = []
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for each in range(number):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(path))
            made.append(Launcher(connection, folder / f"runs-{each}"))
        yield tuple(made)
    finally:
        for launcher in made:
            launcher.close()
        process.kill()
        process.wait(30)


def _run(order: dict[str, Any]) -> int:
    """One run, in the forked process."""
    import zoo.cli

    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    if "step" in order:
        _kill_at(order["step"], order["when"])
    status = zoo.cli.run(order["args"])
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _kill_at(name: str, when: str) -> None:
    import zoo.release.steps as steps

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def around(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def hooked(release: Any) -> Any:
            if when == "before":
                die()
            outcome = run(release)
            die()
            return outcome

        return hooked

    steps.STEPS = tuple(
        replace(step, run=around(step.run)) if step.name == name else step for step in steps.STEPS
    )


def _serve(connection: socket.socket) -> None:
    """Fork a run for each line of ``connection``."""
    lines = connection.makefile("rw")

    def say(number: int) -> None:
        lines.write(f"{number}\n")
        lines.flush()

    for line in lines:
        order = json.loads(line)
        pid = os.fork()
        if not pid:
            status = 70
            try:
                status = _run(order)
            finally:
                os._exit(status)
        say(pid)
        say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def main(path: str) -> None:
    """Import what a release needs, and fork for each connection to the socket at ``path``.

    Before that, verify a draft and render a card: what a process reads and compiles once, no run does again.
    """
    import numpy  # noqa: F401

    import zoo.cli.failures
    import zoo.cli.group
    import zoo.cli.keys
    import zoo.cli.merge
    import zoo.cli.release
    import zoo.cli.target
    import zoo.release.merge
    import zoo.release.steps
    import zoo.release.targets.hub
    import zoo.report.text
    import zoo.rules
    import zoo.trust.git
    import zoo.trust.provenance
    import zoo.trust.signing

    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        place = f"{folder}/zoo"
        for args in (
            ("init", place),
            ("--zoo", place, "card", "example-draft", "--stdout"),
            ("--zoo", str(REPOSITORY), "verify", "tiny-ft", "--deep"),
        ):
            assert zoo.cli.run(list(args)) == 0
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listener.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            _serve(connection)
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    main(sys.argv[1])
