"""What a person and a script see of a smoke test: exit statuses, tables, words; and the card's section."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.card.conftest import kimi, kimi_zoo, record  # noqa: F401
from zoo.card.servings import servings
from zoo.evidence import Engine, Result
from zoo.recipe.model import Recipe
from zoo.report.smoke import outcome_of, outcome_of_control, render, verdict
from zoo.results import Outcome
from zoo.smoke.words import found

PASSED, FAILED, NOT_CHECKED = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_CHECKED


def gate(name: str, outcome: Outcome, **measured: object) -> Result:
    return Result(f"gate/{name}", outcome, "" if outcome is PASSED else f"why {name}", measured)


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([gate("ready", PASSED)], 0),
        ([gate("ready", PASSED), gate("parsers", NOT_CHECKED)], 0),  # the recipe does not require it
        ([gate("ready", NOT_CHECKED)], 2),
        ([], 2),
        ([gate("ready", NOT_CHECKED), gate("parsers", FAILED)], 1),  # what failed counts, required or not
        ([gate("ready", PASSED), Result("control/prefix", FAILED, "no probe failed", {})], 1),
        ([gate("ready", PASSED), Result("control/prefix", NOT_CHECKED, "it did not start", {})], 2),
    ],
)
def test_the_exit_status_is_that_of_what_is_required_and_of_whatever_failed(
    results: list[Result], status: int
) -> None:
    assert outcome_of(results, ("ready",)) == status


def test_a_control_is_caught_by_a_probe_that_failed_and_by_nothing_else() -> None:
    assert outcome_of_control([gate("ready", PASSED), gate("accept-length", FAILED)]) == 0
    assert outcome_of_control([gate("ready", PASSED), gate("accept-length", NOT_CHECKED)]) == 1


LENGTHS = Result(
    "served/t0",
    PASSED,
    "",
    {
        "temperature": 0,
        "accept_length": 2.0761,
        "median_accept_length": 1.98,
        "verify_steps": 1774,
        "correct_drafts": 1909,
        "by_position": [0.56, 0.27],
    },
)


def test_the_text_has_lengths_probes_controls_and_phases() -> None:
    results = [
        gate("replayed", PASSED, accept_length=2.0761, replayed_accept_length=2.06),
        gate("memory", NOT_CHECKED),
        LENGTHS,
        Result("control/prefix", PASSED, "", {"caught_by": "accept-length replayed"}),
        Result("phases", PASSED, "", {"start": 32.1, "greedy": 8.0}),
    ]
    assert render("tiny-ft 1.0.0", results) == (
        "tiny-ft 1.0.0\n\n"
        "             accept length  median   steps  share of steps that accept 1, 2, ...\n"
        "T=0                  2.076    1.98   1,774  .56 .27\n\n"
        "probe\n"
        "  replayed       passed       accept length 2.076 served, 2.060 replayed over the same tokens\n"
        "  memory         not checked  why memory\n\n"
        "negative control\n"
        "  prefix         caught       by accept-length replayed\n\n"
        "phases: start 32.1 s, greedy 8 s"
    )
    said = verdict(results, ("replayed", "memory"), 2)
    assert said == ("not checked  1 probes passed, 0 failed, 1 not checked (the recipe requires: memory)")


def test_words_about_measurements_that_are_not_there_are_no_words() -> None:
    assert found(gate("replayed", PASSED, accept_length="much")) == ""
    assert found(gate("unheard-of", PASSED)) == ""


def test_the_card_says_exactly_what_ran(kimi: Recipe) -> None:  # noqa: F811
    profile = kimi.profiles[0].name
    served = replace(record(kimi, "smoke", profile), results=(gate("ready", PASSED), LENGTHS))
    (said,) = servings((served, record(kimi)))
    assert said["title"] == "Served by SGLang 0.5.14 on 8 x NVIDIA B200"
    assert said["lengths"][0]["accept_length"] == "2.08"
    assert said["positions"] == [1, 2]
    assert not said["reference"]
    unseen = replace(served, host={"gpus": [], "cpu": "x86_64"})
    assert servings((unseen,))[0]["title"] == "Served by SGLang 0.5.14 on hardware that nobody looked at"
    reference = replace(unseen, subject="reference", engine=Engine("reference", "0.1.0", ()))
    (said,) = servings((reference,))
    assert said["title"] == "Served by the reference engine of draft-zoo on a CPU (x86_64)"
    assert servings((replace(served, stale="it was made for another checkpoint"),)) == []
