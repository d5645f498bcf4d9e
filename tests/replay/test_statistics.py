"""Intervals and tests over conversations: against values worked out by hand, and at their edges."""

from __future__ import annotations

import pytest

from zoo.replay.statistics import adjusted, paired, ratio_interval

pytestmark = pytest.mark.torch


def test_the_interval_of_a_ratio_holds_it_and_is_the_same_every_time() -> None:
    counts, steps = [30, 42, 28, 55, 31, 47], [10, 12, 9, 14, 11, 12]
    low, high = ratio_interval(counts, steps) or (0, 0)
    assert low < sum(counts) / sum(steps) < high
    assert ratio_interval(counts, steps) == (low, high)


@pytest.mark.parametrize(("counts", "steps"), [([3], [2]), ([2, 4], [1, 2]), ([0, 0], [5, 5]), ([], [])])
def test_what_does_not_vary_has_no_interval(counts: list[int], steps: list[int]) -> None:
    assert ratio_interval(counts, steps) is None


def test_a_paired_change_is_in_parts_of_the_declared_gain() -> None:
    # Differences -1, -1, -1, -0.6 of a mean of 4: mean -0.225, and a t interval with 3 degrees of freedom.
    found = paired([4.0, 4.0, 4.0, 4.0], [3.0, 3.0, 3.0, 3.4], margin=0.02)
    assert found.change == pytest.approx(-0.225)
    error = 0.05 / 2  # standard deviation / sqrt(n)
    assert found.high - found.change == pytest.approx(3.18245 * error, rel=1e-4)
    assert found.p_above > 0.99
    assert found.p_below < 0.01
    assert found.conversations == 4


def test_a_change_without_noise_is_certain() -> None:
    same = paired([2.0, 3.0], [2.0, 3.0], margin=0.02)
    assert (same.change, same.low, same.high, same.p_above) == (0, 0, 0, 1)
    better = paired([2.0, 2.0], [3.0, 3.0], margin=0.02)
    assert (better.change, better.p_above, better.p_below) == (0.5, 0, 1)


def test_p_values_are_corrected_for_their_number() -> None:
    assert adjusted([]) == []
    assert adjusted([0.01]) == [0.01]
    assert adjusted([0.01, 0.5, 0.9, 0.9]) == pytest.approx([0.04, 0.9, 0.9, 0.9])
