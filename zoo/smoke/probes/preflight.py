"""Whether the machine is the one that the profile asks for, and free: looked at before anything starts."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.evidence import Result
from zoo.smoke.probes.verdicts import failed, not_checked, passed
from zoo.smoke.settings import PREFLIGHT


def result(gpus: Sequence[str] | None, problems: Sequence[str], reason: str = "") -> Result:
    """``gpus``: their names; None: nobody could look, because of ``reason``."""
    if gpus is None:
        return not_checked(PREFLIGHT, reason or "the GPUs could not be looked at")
    said = {"gpus": len(gpus)}
    return failed(PREFLIGHT, problems, said) if problems else passed(PREFLIGHT, said, reason)
