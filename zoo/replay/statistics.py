"""The statistics of replay: intervals and tests over conversations, all of them by scipy.

Steps of one conversation depend on each other, so a conversation is the unit (the cluster) everywhere. A
draft and its variant are compared on the same conversations, in pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.95
_RESAMPLES = 9999
_SEED = 20_261_130  # an interval must be the same in every run over the same counts


def ratio_interval(counts: Sequence[int], steps: Sequence[int]) -> tuple[float, float] | None:
    """The 95% interval of sum(counts) / sum(steps) over conversations: the bootstrap of conversations, with
    bias corrected and accelerated (BCa). None for fewer than two conversations, or where all say the same."""
    import numpy
    from scipy.stats import bootstrap

    ratios = {count / step for count, step in zip(counts, steps, strict=True) if step}
    if len(ratios) < 2:
        return None

    def ratio(counted: Any, stepped: Any, axis: int = -1) -> Any:
        return counted.sum(axis=axis) / stepped.sum(axis=axis)

    kept = [(count, step) for count, step in zip(counts, steps, strict=True) if step]
    found = bootstrap(
        tuple(numpy.array(column, dtype=float) for column in zip(*kept, strict=True)),
        ratio,
        paired=True,
        vectorized=True,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=numpy.random.default_rng(_SEED),
    ).confidence_interval
    low, high = float(found.low), float(found.high)
    return None if numpy.isnan(low) or numpy.isnan(high) else (low, high)


@dataclass(frozen=True, slots=True)
class Paired:
    """A change of accept length - 1, in parts of the declared draft's: the mean over conversations of the
    paired differences, with its 95% interval by t. ``p_above`` is the chance of a mean this large where the
    true one is at most the margin, ``p_below`` that of one this small where it is at least the margin."""

    change: float
    low: float
    high: float
    p_above: float
    p_below: float
    conversations: int


def paired(ours: Sequence[float], other: Sequence[float], margin: float) -> Paired:
    """Compare ``other`` with ``ours``: mean accepted proposals per conversation, in the same order.
    ``margin`` in parts of the mean of ``ours``, which must be above 0, as at least two conversations."""
    from scipy.stats import ttest_1samp

    mean = sum(ours) / len(ours)
    changes = [(theirs - mine) / mean for mine, theirs in zip(ours, other, strict=True)]
    average = sum(changes) / len(changes)
    if max(changes) - min(changes) < 1e-12:  # no noise at all: t is not defined, and nothing is uncertain
        above, below = float(average <= margin), float(average >= margin)
        return Paired(average, average, average, above, below, len(changes))
    interval = ttest_1samp(changes, 0).confidence_interval(CONFIDENCE)
    return Paired(
        change=average,
        low=float(interval.low),
        high=float(interval.high),
        p_above=float(ttest_1samp(changes, margin, alternative="greater").pvalue),
        p_below=float(ttest_1samp(changes, margin, alternative="less").pvalue),
        conversations=len(changes),
    )


def adjusted(values: Sequence[float]) -> list[float]:
    """p values corrected for their number (Benjamini and Hochberg). Where no null hypothesis is false, the
    false discovery rate that it holds *is* the chance of any alarm, which is what a gate must hold: where one
    is false, the gate should fail. It needs independence or positive dependence, which tests have that share
    the declared draft."""
    from scipy.stats import false_discovery_control

    return [float(each) for each in false_discovery_control(list(values), method="bh")] if values else []
