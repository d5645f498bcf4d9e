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
# From this relative difference on a change counts as a thousandfold: there was next to nothing before.
_MOST = 1.996
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
    """A change of accept length - 1, as a part of it, over conversations in pairs, with its 95% interval by
    t. ``p_above`` is the chance of a change this large where the true one is at most the margin, ``p_below``
    that of one this small where it is at least the margin."""

    change: float
    low: float
    high: float
    p_above: float
    p_below: float
    conversations: int


def paired(ours: Sequence[float], other: Sequence[float], margin: float) -> Paired:
    """Compare ``other`` with ``ours``: mean accepted proposals of each conversation, in the same order, at
    least two of them. ``margin`` is a change.

    What is averaged is d = (other - ours) / ((other + ours) / 2) of each conversation, and a change c is one
    of d = 2c / (2 + c). Gains differ between conversations by a factor of ten (one that loops has nearly all
    accepted), and a fault takes a share of each: differences that were not divided would be those of the one
    or two conversations with the largest gain.
    """
    from scipy.stats import ttest_1samp

    found = [
        2 * (theirs - mine) / (theirs + mine) if theirs + mine else 0.0
        for mine, theirs in zip(ours, other, strict=True)
    ]
    mean, least = sum(found) / len(found), 2 * margin / (2 + margin)
    if max(found) - min(found) < 1e-9:  # no noise at all: t is not defined, and nothing is uncertain
        change = _change(mean)
        return Paired(change, change, change, float(mean <= least), float(mean >= least), len(found))
    interval = ttest_1samp(found, 0).confidence_interval(CONFIDENCE)
    return Paired(
        change=_change(mean),
        low=_change(float(interval.low)),
        high=_change(float(interval.high)),
        p_above=float(ttest_1samp(found, least, alternative="greater").pvalue),
        p_below=float(ttest_1samp(found, least, alternative="less").pvalue),
        conversations=len(found),
    )


def _change(difference: float) -> float:
    """The change of a relative difference: -1 of -2, where all is lost. An interval may reach beyond that."""
    if difference <= -2:
        return -1.0
    return (2 + difference) / (2 - difference) - 1 if difference < _MOST else 1e3


def adjusted(values: Sequence[float]) -> list[float]:
    """p values corrected for their number (Benjamini and Hochberg). Where no null hypothesis is false, the
    false discovery rate that it holds *is* the chance of any alarm, which is what a gate must hold: where one
    is false, the gate should fail. It needs independence or positive dependence, which tests have that share
    the declared draft."""
    from scipy.stats import false_discovery_control

    return [float(each) for each in false_discovery_control(list(values), method="bh")] if values else []
