"""How far below the target's best token a served one may be: what makes a calibration a tolerance."""

from __future__ import annotations

# Kernels at another batch size differ more than those of one run showed.
_SPARE = 1.5
# Nats. Logits of bf16 are 0.125 apart from 16 on: two such steps are no fault, whatever a few prompts showed
# (0.22 were seen on an H200). In float32 only the last digits of two sums differ.
LEAST, LEAST_FLOAT32 = 0.3, 0.05


def calibrated(least: float, largest_gap: float) -> float:
    """The tolerance in nats, of a target whose own tokens are up to ``largest_gap`` below its best one, in a
    dtype that needs at least ``least``."""
    return max(least, _SPARE * largest_gap)
