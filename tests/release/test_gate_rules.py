"""T001: ``zoo verify`` says what replay evidence says of the gate that the recipe asks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.release.conftest import Place
from tests.release.test_gates import add_evidence
from zoo.results import Outcome

UNCHECKED = "not_checked"


def verified(place: Place, *args: str) -> tuple[int, dict[str, Any]]:
    """The exit status, and what the report says of T001."""
    ran = place.run("--zoo", place.root, "verify", "tiny", "--format", "json", *args)
    report = json.loads(ran.out)
    return ran.status, next(each for each in report["results"] if each["code"] == "T001")


@pytest.fixture
def asking(place: Place) -> Place:
    place.edit_recipe("gates: {}", "gates: {replay: {}}")
    return place


def test_a_replay_that_failed_is_an_error(asking: Place) -> None:
    add_evidence(asking, "replay", Outcome.FAILED)
    status, result = verified(asking, "--deep")
    assert (status, result["outcome"]) == (1, "failed")
    (finding,) = result["findings"]
    assert finding["message"] == "gate replay fails: evidence replay-held-out says so"
    assert finding["where"]["file"] == "recipes/tiny.yaml"
    assert "zoo replay NAME --write" in finding["hint"]


def test_at_header_level_a_failure_is_shown_with_the_doubt_whose_bytes_they_are(asking: Place) -> None:
    add_evidence(asking, "replay", Outcome.FAILED)
    status, result = verified(asking)
    assert status == 1
    assert result["findings"][0]["message"].endswith(
        "; zoo verify tiny --deep says whether it was with these bytes"
    )


def test_a_replay_that_passed_passes_where_the_bytes_were_read(asking: Place) -> None:
    add_evidence(asking, "replay", Outcome.PASSED)
    assert verified(asking, "--deep")[1]["outcome"] == "passed"
    status, result = verified(asking)
    assert (status, result["outcome"]) == (0, UNCHECKED)
    assert result["reason"] == "replay passed; zoo verify tiny --deep says whether it was with these bytes"


@pytest.mark.parametrize("level", [(), ("--deep",)])
def test_what_does_not_count_is_not_checked_and_changes_no_exit_status(
    asking: Place, level: tuple[str, ...]
) -> None:
    status, result = verified(asking, *level)
    assert (status, result["outcome"], result["required"]) == (0, UNCHECKED, False)
    assert result["reason"] == "no replay evidence for this checkpoint"

    add_evidence(asking, "replay", Outcome.NOT_CHECKED)
    status, result = verified(asking, *level)
    assert (status, result["outcome"]) == (0, UNCHECKED)
    assert result["reason"] == "replay-held-out: not checked"


def test_a_failure_of_other_bytes_or_of_other_settings_does_not_count(asking: Place) -> None:
    add_evidence(asking, "replay", Outcome.FAILED, digest="f" * 64)
    status, result = verified(asking, "--deep")
    assert (status, result["outcome"]) == (0, UNCHECKED)
    assert result["reason"] == "replay-held-out: it was made for another checkpoint"

    add_evidence(asking, "replay", Outcome.FAILED)
    asking.edit_recipe("gates: {replay: {}}", "gates: {replay: {optimum_margin: 0.1}}")
    status, result = verified(asking, "--deep")
    assert (status, result["outcome"]) == (0, UNCHECKED)
    assert result["reason"] == "replay-held-out: the recipe asks for another optimum_margin"


def test_a_recipe_that_asks_for_no_replay_is_not_judged_by_one(place: Place) -> None:
    add_evidence(place, "replay", Outcome.FAILED)
    status, result = verified(place, "--deep")
    assert (status, result["outcome"]) == (0, UNCHECKED)
    assert result["reason"] == "the recipe does not ask for this gate"


def test_a_failing_replay_stops_a_release_at_its_own_gate(asking: Place) -> None:
    add_evidence(asking, "replay", Outcome.FAILED)
    ran = asking.push()
    assert ran.status == 1
    assert "gate replay fails: evidence replay-held-out says so" in ran.err
    assert "gate static" not in ran.err


def test_a_record_that_contradicts_itself_is_refused_and_judges_nothing(asking: Place) -> None:
    path = add_evidence(asking, "replay", Outcome.FAILED)
    path.write_text(path.read_text().replace("18:01", "17:01"))
    ran = asking.run("--zoo", asking.root, "verify", "tiny", "--format", "json")
    found = [finding["code"] for each in json.loads(ran.out)["results"] for finding in each["findings"]]
    assert ran.status == 1
    assert "K006" in found
    assert "T001" not in found
