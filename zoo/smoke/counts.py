"""What a server counted for its requests: verify steps and accepted draft tokens.

Accept length is 1 + correct drafts / verify steps, from counts. SGLang's own ``spec_accept_length`` divides
the completion's tokens by the steps, which counts the prefill's token and the cut of the last block too, and
its ``avg_spec_accept_length`` covers whatever the server has served since it started: neither is read here.

    counts = counts_of(answer["meta_info"])
    counts.accept_length
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import sqrt
from statistics import median
from typing import Any

# Names of the fields in SGLang 0.5.14 and 0.5.23; the second is a spelling of 0.5.14 that 0.5.23 dropped.
_STEPS = ("spec_verify_ct",)
_CORRECT = ("spec_num_correct_drafts", "spec_accepted_drafts")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts")
_HISTOGRAM = ("spec_correct_drafts_histogram", "spec_accept_histogram")
# No draft proposes so many tokens a step; no server has counted so far.
_LONGEST, _MOST = 1024, 2**53
# Student's t, two-sided 95%, for 1 to 9 degrees of freedom; beyond that it falls to 1.96.
_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)


@dataclass(frozen=True, slots=True)
class ServedCounts:
    """Of one or more requests. ``histogram[k]``: verify steps that accepted k draft tokens; a server leaves
    out the zeros behind the longest that was accepted. ``proposed``: draft tokens that were proposed."""

    histogram: tuple[int, ...]
    verify_steps: int
    correct_drafts: int
    proposed: int

    @property
    def accept_length(self) -> float:
        """1 + correct drafts / verify steps; 1.0 for no steps."""
        return 1 + self.correct_drafts / self.verify_steps if self.verify_steps else 1.0

    @property
    def longest(self) -> int:
        """The most draft tokens that one step accepted."""
        return max((accepted for accepted, steps in enumerate(self.histogram) if steps), default=0)

    @property
    def block(self) -> int:
        """The most tokens that one step can have given, the target's own included."""
        return max(self.longest, -(-self.proposed // max(1, self.verify_steps))) + 1

    def at_least(self, accepted: int) -> int:
        """Verify steps that accepted at least so many draft tokens."""
        return sum(self.histogram[accepted:])

    def padded(self, proposals: int) -> tuple[int, ...]:
        """The histogram with an entry for each of 0 to ``proposals`` accepted tokens, or as it is where it is
        longer."""
        return self.histogram + (0,) * (proposals + 1 - len(self.histogram))

    def by_position(self, proposals: int) -> tuple[float, ...]:
        """P(accept >= 1), ..., P(accept >= ``proposals``)."""
        at_least = list(accumulate(reversed(self.padded(proposals))))[::-1]
        steps = at_least[0] if at_least else 0
        return tuple(count / steps if steps else 0.0 for count in at_least[1 : proposals + 1])

    def problems(self) -> tuple[str, ...]:
        """Which of the identities that honest counts obey do not hold (sgl-project/sglang#33518)."""
        steps = sum(self.histogram)
        correct = sum(accepted * number for accepted, number in enumerate(self.histogram))
        found = []
        if steps != self.verify_steps:
            found.append(f"{self.verify_steps} verify steps, but the histogram counts {steps}")
        if correct != self.correct_drafts:
            found.append(f"{self.correct_drafts} correct drafts, but the histogram gives {correct}")
        if self.correct_drafts > self.proposed:
            found.append(f"{self.correct_drafts} correct drafts of {self.proposed} proposed")
        if self.verify_steps and self.proposed % self.verify_steps:
            found.append(f"{self.proposed} proposed in {self.verify_steps} steps is no whole number a step")
        return tuple(found)


def counts_of(meta: Mapping[str, Any]) -> ServedCounts | None:
    """The counts in a ``meta_info``; None without speculation, or where no step was needed (one token).

    Raises:
        ValueError: they are not counts.
    """
    steps = _number(meta, _STEPS)
    if not steps:
        return None
    histogram: object = next((meta[name] for name in _HISTOGRAM if name in meta), [])
    if not isinstance(histogram, list) or not all(_is_count(each) for each in histogram):
        raise ValueError(f"{_HISTOGRAM[0]} is no list of counts")
    if len(histogram) > _LONGEST:
        raise ValueError(f"{_HISTOGRAM[0]} has {len(histogram)} counts, and no block has {_LONGEST} tokens")
    correct, proposed = _number(meta, _CORRECT), _number(meta, _PROPOSED)
    if correct is None or proposed is None:
        raise ValueError(f"{steps} verify steps without the counts of draft tokens")
    return ServedCounts(tuple(histogram), steps, correct, proposed)


def pooled(counts: Iterable[ServedCounts | None]) -> ServedCounts:
    """The sum: ratios over it are ratios of sums. Requests without a step add nothing."""
    some = [each for each in counts if each is not None]
    length = max((len(each.histogram) for each in some), default=1)
    columns = zip(*(each.padded(length - 1) for each in some), strict=True)
    return ServedCounts(
        tuple(sum(column) for column in columns) or (0,),
        sum(each.verify_steps for each in some),
        sum(each.correct_drafts for each in some),
        sum(each.proposed for each in some),
    )


def median_accept_length(counts: Iterable[ServedCounts | None]) -> float:
    """The median of the requests' own accept lengths: what one request that loops does not lift."""
    lengths = [each.accept_length for each in counts if each is not None]
    return median(lengths) if lengths else 1.0


@dataclass(frozen=True, slots=True)
class Difference:
    """A ratio of sums minus another. ``noise``: how far it is from 0 by chance in 19 of 20 cases, inf where
    that cannot be told."""

    value: float
    noise: float


def difference(ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]) -> Difference:
    """sum(a) / sum(b) over ``ours`` minus the same over ``theirs``: pairs (a, b) of the same requests in the
    same order, b > 0 in at least one.

    Steps of a request depend on each other, so that the request is the unit: the noise is that of a ratio
    estimator (Cochran, Sampling Techniques, 6.4), with the residuals of both sides taken in pairs.
    """
    ratios = [_ratio(ours), _ratio(theirs)]
    sums = [sum(steps for _, steps in side) for side in (ours, theirs)]
    residuals = [
        (a - ratios[0] * b) / sums[0] - (c - ratios[1] * d) / sums[1]
        for (a, b), (c, d) in zip(ours, theirs, strict=True)
    ]
    number = len(residuals)
    value = ratios[0] - ratios[1]
    if number < 2:
        return Difference(value, float("inf"))
    error = sqrt(number / (number - 1) * sum(each * each for each in residuals))
    return Difference(value, error * (_STUDENT[number - 2] if number - 2 < len(_STUDENT) else 2.23))


def _ratio(pairs: Sequence[tuple[int, int]]) -> float:
    return sum(count for count, _ in pairs) / sum(steps for _, steps in pairs)


def _number(meta: Mapping[str, Any], names: Sequence[str]) -> int | None:
    value = next((meta[name] for name in names if name in meta), None)
    if value is not None and not _is_count(value):
        raise ValueError(f"{names[0]} is no count")
    return value


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
