"""A command against a peer, in turns, in the same run: machines drift, ratios of neighbours hold."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """``median`` of the ratios of neighbouring runs, and the median wall seconds of each side."""

    median: float
    ours: float
    peer: float

    def __str__(self) -> str:
        return f"{self.median:.2f}x ({self.ours * 1000:.0f} ms against {self.peer * 1000:.0f} ms)"


def wall(command: Sequence[str]) -> float:
    """Wall seconds of one run, process start included."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def compare(ours: Sequence[str], peer: Sequence[str], rounds: int = 15) -> Ratio:
    """Run both ``rounds`` times in turns, after one warm-up of each."""
    wall(ours), wall(peer)
    pairs = [(wall(ours), wall(peer)) for _ in range(rounds)]
    return Ratio(
        statistics.median(one / other for one, other in pairs),
        statistics.median(one for one, _ in pairs),
        statistics.median(other for _, other in pairs),
    )
