"""The gates of a replay on rows that are made up: each can pass, fail and say why it was not checked."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from zoo.evidence import Result
from zoo.replay.acceptance import Counts
from zoo.replay.gates import measured, negative_controls, not_worse, optimum, parity
from zoo.replay.run import Row
from zoo.replay.settings import ReplaySettings
from zoo.replay.variants import Variant
from zoo.results import Outcome

pytestmark = pytest.mark.torch
PASSED, FAILED, NOT_CHECKED = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_CHECKED
SETTINGS = ReplaySettings()


def rows(mean: float, number: int = 12, noise: float = 0.05, seed: int = 0) -> tuple[Row, ...]:
    """Conversations of 1,000 anchors of a draft that proposes one token and has it accepted in about ``mean``
    of all steps; its walks have 100 steps."""
    made, found = random.Random(seed), []
    for index in range(number):
        share = min(1.0, max(0.0, mean + made.gauss(0, noise)))
        walk, every = round(100 * share), round(1000 * share)
        found.append(Row(f"c{index}", "main", Counts((100 - walk, walk)), Counts((1000 - every, every))))
    return tuple(found)


def held_out(accept_length: float, temperature: float = 0) -> dict[str, object]:
    return {"held_out": {"accept_length": accept_length, "temperature": temperature}}


@pytest.mark.parametrize(
    ("accept_length", "outcome", "reason"),
    [
        (1.4, PASSED, ""),
        (1.51, PASSED, ""),
        (1.9, FAILED, "accept length 1.47, 1.90 in training"),
        (1.54, NOT_CHECKED, "within the noise"),
    ],
)
def test_parity_with_the_training_run(accept_length: float, outcome: Outcome, reason: str) -> None:
    found = parity(rows(0.5, noise=0.1), 0, held_out(accept_length), SETTINGS)
    assert found.check == "gate/parity"
    assert found.outcome is outcome, found
    assert reason in found.reason


@pytest.mark.parametrize(
    ("temperature", "training", "number", "reason"),
    [
        (0, None, 12, "no training manifest"),
        (0, {"run": "x"}, 12, "no training manifest states"),
        (1, held_out(1.5), 12, "measured at temperature 0, the trace has 1"),
        (None, held_out(1.5), 12, "the trace has unknown"),
        (0, held_out(1.5), 7, "7 conversations, and 8 are needed"),
    ],
)
def test_parity_that_cannot_be_checked(
    temperature: float | None, training: dict[str, object] | None, number: int, reason: str
) -> None:
    found = parity(rows(0.5, number), temperature, training, SETTINGS)
    assert found.outcome is NOT_CHECKED
    assert reason in found.reason


@pytest.mark.parametrize(
    ("base", "noise", "outcome"),
    [(0.5, 0.001, PASSED), (0.3, 0.05, PASSED), (0.7, 0.05, FAILED), (0.5, 0.2, NOT_CHECKED), (0, 0, PASSED)],
)
def test_not_worse_than_the_base(base: float, noise: float, outcome: Outcome) -> None:
    found = not_worse(rows(0.5, noise=noise), rows(base, noise=noise, seed=1), "", SETTINGS)
    assert found.outcome is outcome, found


def test_without_a_base_nothing_is_compared() -> None:
    found = not_worse(rows(0.5), None, "the base is not here", SETTINGS)
    assert (found.outcome, found.reason) == (NOT_CHECKED, "the base is not here")


def tried(*means: float) -> list[tuple[Variant, Sequence[Row] | None]]:
    """Variants of these means, paired with rows of the same seed: their noise is that of the draft."""
    return [(Variant(f"v{index}", f"variant {index}"), rows(mean)) for index, mean in enumerate(means)]


def gate(results: Sequence[Result]) -> Result:
    return next(each for each in results if each.check.startswith("gate/"))


def test_a_neighbour_that_is_better_fails_the_gate_and_is_named() -> None:
    results = optimum(rows(0.5), tried(0.45, 0.55, 0.505), SETTINGS)
    assert [each.measured.get("verdict") for each in results[:3]] == [
        "not better",
        "better",
        "below the noise",
    ]
    assert [each.outcome for each in results] == [PASSED, FAILED, PASSED, FAILED]
    assert "variant 1: +1" in gate(results).reason


def test_a_neighbour_that_is_better_by_less_than_the_margin_is_below_the_noise() -> None:
    results = optimum(rows(0.5, noise=0), tried(0.505, 0.4), SETTINGS)
    assert results[0].measured["verdict"] == "below the noise"
    assert gate(results).outcome is PASSED


def test_a_replay_that_can_tell_no_neighbour_proves_nothing() -> None:
    results = optimum(rows(0.5, noise=0), tried(0.505, 0.5), SETTINGS)
    assert gate(results).outcome is NOT_CHECKED
    assert "record more conversations" in gate(results).reason


def test_a_variant_that_the_trace_cannot_make_is_not_checked() -> None:
    absent = [(Variant("a", "layer 9", absent="no states after layer 9"), None)]
    results = optimum(rows(0.5), [*absent, *tried(0.4)], SETTINGS)
    assert (results[0].outcome, results[0].reason) == (NOT_CHECKED, "no states after layer 9")
    assert gate(results).outcome is PASSED
    assert gate(results).measured["not_checked"] == 1
    assert gate(optimum(rows(0.5), absent, SETTINGS)).outcome is NOT_CHECKED


def test_many_variants_give_no_alarm_by_chance() -> None:
    """40 variants that differ from the draft by noise alone: uncorrected, 5% of them would be alarms."""
    alarms = 0
    for trial in range(20):
        noisy = [
            (Variant(f"v{index}", "noise"), rows(0.51, noise=0.05, seed=1000 * trial + index))
            for index in range(1, 41)
        ]
        alarms += gate(optimum(rows(0.5, seed=1000 * trial), noisy, SETTINGS)).outcome is FAILED
    assert alarms <= 3


def test_a_dead_draft_has_no_optimum_and_fails_the_controls() -> None:
    dead = rows(0, noise=0)
    assert gate(optimum(dead, tried(0, 0), SETTINGS)).outcome is NOT_CHECKED
    assert gate(negative_controls(dead, tried(0), SETTINGS)).outcome is FAILED


def test_controls_must_collapse() -> None:
    assert gate(negative_controls(rows(0.5), tried(0.01, 0.2), SETTINGS)).outcome is PASSED
    results = negative_controls(rows(0.5), tried(0.01, 0.4), SETTINGS)
    assert [each.outcome for each in results] == [PASSED, FAILED, FAILED]
    assert "variant 1: keeps" in gate(results).reason


def test_a_measurement_has_its_counts_and_an_interval() -> None:
    found = measured("domain/main", rows(0.5), {"domain": "main"})
    assert found.outcome is PASSED
    said = found.measured
    assert sum(said["conversation_steps"]) == said["verify_steps"] == 1200
    assert sum(said["conversation_correct"]) == said["correct_drafts"]
    assert said["interval"][0] < said["accept_length"] < said["interval"][1]
    nothing = (Row("c", "main", Counts((0, 0)), Counts((0, 0))),)
    assert measured("domain/main", nothing, {"domain": "main"}).outcome is NOT_CHECKED
