"""Reference engines that are forked from one process, which has imported torch and transformers: that takes
4 s of CPU time, and the tiny pair is loaded in a tenth of it. What is forked runs as ``python -m
zoo.smoke.reference`` does; tests about its process start one that is imported anew (``reference_kit.start``).

``python -m tests.smoke.forked`` is the process that is forked. Each line that it reads is a JSON object with
the arguments of an engine and the file for its log; it answers with the id of the new process. When there are
no more lines, all of them end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

REPOSITORY = Path(__file__).parents[2]


class Forker:
    """The process that is forked, until the block ends."""

    def __enter__(self) -> Forker:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.smoke.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        return self

    def start(self, log_file: Path, arguments: list[str]) -> int:
        """A new engine; the id of its process. It may not be ready yet."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"arguments": arguments, "log": str(log_file)}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()


def _run(order: dict[str, Any]) -> int:
    """One engine, in the forked process."""
    from zoo.smoke.reference.__main__ import main

    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for descriptor in (1, 2):
        os.dup2(os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), descriptor)
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    return main(order["arguments"])


def serve() -> None:
    """Import what an engine needs, and fork for each line."""
    import transformers.models.qwen3.modeling_qwen3  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: F401

    import zoo.smoke.reference.draft
    import zoo.smoke.reference.engine
    import zoo.smoke.reference.server
    import zoo.smoke.reference.target  # noqa: F401

    made: list[int] = []
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            status = 70
            try:
                status = _run(json.loads(line))
            finally:
                os._exit(status)
        made.append(pid)
        print(pid, flush=True)
    for pid in made:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    serve()
