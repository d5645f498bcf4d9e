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


def test_a_paired_change_is_the_mean_of_relative_differences() -> None:
    # 2 (b - a) / (b + a) is -2/3, -2/3, -2/3 and -2/5: mean -0.6, standard error 1/15, and a t interval with
    # 3 degrees of freedom. A difference of -0.6 is a change of 1.4 / 2.6 - 1.
    found = paired([2.0, 4.0, 6.0, 3.0], [1.0, 2.0, 3.0, 2.0], margin=0.02)
    assert found.change == pytest.approx(1.4 / 2.6 - 1)
    high = -0.6 + 3.182446 / 15
    assert found.high == pytest.approx((2 + high) / (2 - high) - 1, rel=1e-5)
    assert found.p_above > 0.99
    assert found.p_below < 0.01
    assert found.conversations == 4


def test_one_conversation_with_a_large_gain_does_not_decide() -> None:
    ours = [0.5, 0.6, 0.7, 0.6, 0.5, 0.6, 0.7, 5.4]
    found = paired(ours, [*(each * 0.8 for each in ours[:-1]), 5.4], margin=0.0)
    assert found.high < 0
    assert found.change == pytest.approx(-0.176, abs=0.01)


def test_a_change_without_noise_is_certain() -> None:
    same = paired([2.0, 3.0], [2.0, 3.0], margin=0.02)
    assert (same.change, same.low, same.high, same.p_above) == (0, 0, 0, 1)
    better = paired([2.0, 2.0], [3.0, 3.0], margin=0.02)
    assert better.change == pytest.approx(0.5)
    assert (better.p_above, better.p_below) == (0, 1)
    at_margin = paired([2.0, 2.0], [2.2, 2.2], margin=0.1 + 1e-9)
    assert (at_margin.p_above, at_margin.p_below) == (1, 0)


def test_all_and_nothing_have_a_change_too() -> None:
    assert paired([1.0, 2.0], [0.0, 0.0], margin=0.0).change == -1
    assert paired([0.0, 0.0], [1.0, 2.0], margin=0.0).change == 1000
    assert paired([0.0, 1.0], [0.0, 1.0], margin=0.0).change == 0


def test_p_values_are_corrected_for_their_number() -> None:
    assert adjusted([]) == []
    assert adjusted([0.01]) == [0.01]
    assert adjusted([0.01, 0.5, 0.9, 0.9]) == pytest.approx([0.04, 0.9, 0.9, 0.9])
