"""Counts of a server: accept length by its one definition, identities, and the noise of a difference."""

from __future__ import annotations

from typing import Any

import pytest

from tests.smoke.served_kit import counts
from zoo.smoke.counts import ServedCounts, counts_of, difference, median_accept_length, pooled

META: dict[str, Any] = {
    # The prefill's token and the cut of the last block are in spec_accept_length: 48 / 11, not 1 + 42 / 11.
    "completion_tokens": 48,
    "spec_accept_length": 4.36,
    "spec_accept_rate": 0.545,
    "spec_verify_ct": 11,
    "spec_num_correct_drafts": 42,
    "spec_num_proposed_drafts": 77,
    "spec_correct_drafts_histogram": [2, 1, 1, 2, 0, 1, 0, 4],
    "decode_throughput": 1e7,
}


def test_accept_length_is_one_plus_correct_drafts_per_verify_step() -> None:
    found = counts_of(META)
    assert found is not None
    assert found.accept_length == pytest.approx(1 + 42 / 11)
    assert found.problems() == ()


def test_the_names_that_only_0_5_14_has_are_read_too() -> None:
    renamed = {
        "spec_verify_ct": 2,
        "spec_accepted_drafts": 3,
        "spec_proposed_drafts": 14,
        "spec_accept_histogram": [0, 1, 1],
    }
    assert counts_of(renamed) == ServedCounts((0, 1, 1), 2, 3, 14)


@pytest.mark.parametrize("meta", [{}, {"completion_tokens": 1}, {"spec_verify_ct": 0}])
def test_an_answer_without_a_verify_step_has_no_counts(meta: dict[str, Any]) -> None:
    assert counts_of(meta) is None


@pytest.mark.parametrize(
    "change",
    [
        {"spec_verify_ct": -1},
        {"spec_verify_ct": "11"},
        {"spec_num_correct_drafts": None},
        {"spec_num_correct_drafts": 1.5},
        {"spec_correct_drafts_histogram": [1, True]},
        {"spec_correct_drafts_histogram": "1"},
        {"spec_correct_drafts_histogram": [0] * 1025},
        {"spec_num_correct_drafts": 10**300},
    ],
)
def test_what_is_no_count_is_an_error_and_not_a_zero(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="count"):
        counts_of(META | change)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (ServedCounts((5, 5), 11, 5, 77), "11 verify steps, but the histogram counts 10"),
        (ServedCounts((5, 5), 10, 7, 70), "7 correct drafts, but the histogram gives 5"),
        (ServedCounts((0, 0, 9), 9, 18, 9), "18 correct drafts of 9 proposed"),
        (ServedCounts((5, 5), 10, 5, 71), "no whole number a step"),
    ],
)
def test_counts_that_contradict_each_other_say_how(made: ServedCounts, problem: str) -> None:
    assert any(problem in each for each in made.problems()), made.problems()


def test_pooled_counts_are_ratios_of_sums_and_the_median_is_of_requests() -> None:
    # One request that loops, of many steps: the ratio of sums follows it, the median does not.
    short, looping = counts((3, 1)), counts((0, 0, 0, 0, 0, 0, 0, 30))
    together = pooled([short, None, short, looping])
    assert together.histogram == (6, 2, 0, 0, 0, 0, 0, 30)
    assert together.accept_length == pytest.approx(1 + 212 / 38)
    assert median_accept_length([short, short, None, looping]) == pytest.approx(1.25)


def test_nothing_pooled_is_no_step_and_an_accept_length_of_one() -> None:
    assert pooled([]).verify_steps == 0
    assert pooled([None]).accept_length == 1.0


def test_positions_are_shares_of_steps_that_accepted_at_least_so_many() -> None:
    assert counts((5, 3, 2)).by_position(4) == (0.5, 0.2, 0.0, 0.0)


def test_a_histogram_is_filled_to_the_block_and_never_cut() -> None:
    assert counts((5, 1)).padded(3) == (5, 1, 0, 0)
    assert counts((5, 1, 0, 0, 2)).padded(3) == (5, 1, 0, 0, 2)


def test_equal_requests_have_no_difference_and_no_noise() -> None:
    pairs = [(10, 20), (3, 9), (40, 41)]
    assert (difference(pairs, pairs).value, difference(pairs, pairs).noise) == (0.0, 0.0)


def test_one_request_cannot_tell_noise() -> None:
    assert difference([(10, 20)], [(5, 20)]).noise == float("inf")


def test_the_noise_of_a_difference_holds_the_chance_that_it_states() -> None:
    """Of 1,000 pairs of samples without a true difference some 5% are further apart than their noise."""
    import random

    made, missed = random.Random(3), 0
    for _ in range(1000):
        sides = [
            [(sum(made.random() < rate for _ in range(40)), 40) for rate in rates]
            for rates in [[0.2 + 0.06 * each for each in range(10)]] * 2
        ]
        found = difference(*sides)
        missed += abs(found.value) > found.noise
    assert 20 <= missed <= 80


def test_shares_by_position_are_those_of_their_definition() -> None:
    found = counts((2, 1, 0, 3))
    assert found.by_position(5) == (4 / 6, 3 / 6, 3 / 6, 0, 0)
    assert found.by_position(2) == tuple(found.at_least(k) / 6 for k in (1, 2))
    assert ServedCounts((), 0, 0, 0).by_position(2) == (0, 0)
    assert found.block == 8
