"""Whether the server ended when it was asked to, and left nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoo.evidence import Result
from zoo.smoke.probes.verdicts import failed, passed
from zoo.smoke.server import Stopped
from zoo.smoke.settings import SHUTDOWN


def result(stopped: Stopped, memory: Sequence[str] = ()) -> Result:
    """``memory``: GPUs whose memory did not come back, in words.

    SGLang ends itself with SIGKILL after a SIGTERM: exit code -9 is clean (``Stopped.clean``).
    """
    said: dict[str, Any] = {"seconds": round(stopped.seconds, 1), "forced": stopped.forced}
    said |= {} if stopped.exit_code is None else {"exit_code": stopped.exit_code}
    problems = []
    if stopped.by_itself:
        problems.append(f"the server had ended by itself (exit code {stopped.exit_code})")
    if stopped.forced:
        problems.append("SIGTERM was not enough, it had to be killed")
    if stopped.survivors:
        problems.append(f"processes still run: {', '.join(map(str, stopped.survivors))}")
    if not stopped.port_closed:
        problems.append("its port is still open")
    if not stopped.clean and not problems:
        problems.append(f"it ended with exit code {stopped.exit_code}")
    problems += memory
    return failed(SHUTDOWN, problems, said) if problems else passed(SHUTDOWN, said)
