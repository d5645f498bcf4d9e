"""Whether every GPU has memory to spare after the requests, and the KV cache holds the recipe's context."""

from __future__ import annotations

from typing import Any

from zoo.evidence import Result
from zoo.smoke.probes.verdicts import failed, not_checked, passed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import MEMORY

_GIB = 1024**3


def judge(served: Served) -> Result:
    if isinstance(served.gpus_free, Absent):
        return not_checked(MEMORY, served.gpus_free)
    if not served.gpus_free:
        return not_checked(MEMORY, "no GPU")
    usage = _usage(served)
    capacity = usage.get("token_capacity")
    said: dict[str, Any] = {f"usage/{key}": value for key, value in usage.items()}
    said["free_gib"] = [round(free / _GIB, 2) for free in served.gpus_free]
    problems = [
        f"GPU {index} has {free / _GIB:.1f} GiB free, {served.settings.head_room:g} are needed"
        for index, free in enumerate(served.gpus_free)
        if free < served.settings.head_room * _GIB
    ]
    if capacity is not None and capacity < served.settings.context:
        problems.append(
            f"the KV cache holds {capacity:,} tokens, the context has {served.settings.context:,}"
        )
    return failed(MEMORY, problems, said) if problems else passed(MEMORY, said)


def _usage(served: Served) -> dict[str, float]:
    """``memory_usage`` of the first scheduler, in GB and tokens (SGLang 0.5.14 and 0.5.23)."""
    states = served.info.get("internal_states")
    first = states[0] if isinstance(states, list) and states else None
    usage = first.get("memory_usage") if isinstance(first, dict) else None
    if not isinstance(usage, dict):
        return {}
    numbers = ((key, value) for key, value in usage.items() if key.replace("_", "").isalnum())
    return {key: value for key, value in numbers if isinstance(value, int | float)}
