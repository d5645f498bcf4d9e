"""A gate that the recipe asks for, and what a merge says of it (V016); the card of weights nobody ran."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.example import Work
from tests.ci.history import RECORD
from tests.conftest import Ran

Clone = Callable[[str], Work]
ASKS = "gates: {replay: {}}\n"


def results(result: dict[str, Any], name: str = "second") -> dict[str, dict[str, Any]]:
    (draft,) = [each for each in result["drafts"] if each["name"] == name]
    return {each["code"]: each for each in draft["report"]["results"]}


@pytest.fixture
def asking(clone: Clone) -> Work:
    """On main, ``second`` asks for a replay, and its record answers."""
    work = clone("main")
    work.write("recipes/second.yaml", work.read("recipes/second.yaml") + ASKS)
    work.card("second")
    work.commit()
    work.git("branch", "-f", "main")
    return work


def test_a_gate_that_a_record_answers_is_no_matter(asking: Work) -> None:
    asking.edit("recipes/second.yaml", "A second tiny draft", "The second tiny draft")
    asking.card("second")
    result = asking.ci()
    assert result["exit"] == 0
    assert results(result)["V016"]["outcome"] == "passed"


@pytest.mark.parametrize("strict", [False, True])
def test_new_weights_under_a_new_version_are_merged_with_a_warning_or_by_the_settings_not(
    asking: Work, strict: bool
) -> None:
    if strict:
        asking.write("zoo.toml", 'severity = {V016 = "error"}\n' + asking.read("zoo.toml"))
        asking.commit()
        asking.git("branch", "-f", "main")
    asking.weights("drafts/second", 3)
    asking.edit("recipes/second.yaml", "version: 0.1.0", "version: 0.2.0")
    asking.edit("recipes/second.yaml", "source: measured, evidence: replay-held-out", "source: reported")
    asking.card("second")
    result = asking.ci()
    (found,) = results(result)["V016"]["findings"]
    assert "asks for replay, and no evidence of these weights answers it" in found["message"]
    assert "a release will be refused" in found["message"]
    assert "zoo replay second --write" in found["hint"]
    assert found["severity"] == ("error" if strict else "warning")
    assert found["where"]["file"] == "recipes/second.yaml"
    assert result["exit"] == (1 if strict else 0)


def test_the_card_of_changed_weights_does_not_count_the_record_of_the_old_ones(
    asking: Work, run_zoo: Callable[..., Ran]
) -> None:
    asking.edit("recipes/second.yaml", "source: measured, evidence: replay-held-out", "source: reported")
    asking.card("second")
    asking.commit()
    asking.git("branch", "-f", "main")
    asking.weights("drafts/second", 3)
    result = asking.ci()
    assert result["exit"] == 1
    failed = {code for code, each in results(result).items() if each["outcome"] == "failed"}
    assert failed == {"K001", "V008", "V016"}
    ran = run_zoo("--zoo", asking.root, "card", "second", "--check")
    assert (ran.status, "it was made for another checkpoint" in ran.err) == (1, True)
    asking.card("second")
    assert "stale: it was made for another checkpoint" in asking.read("release/second/0.1.0/README.md")
    result = asking.ci()
    failed = {code for code, each in results(result).items() if each["outcome"] == "failed"}
    assert (result["exit"], failed) == (0, {"V008", "V016"})


def test_where_nobody_knows_the_bytes_a_card_may_say_either(
    asking: Work, run_zoo: Callable[..., Ran]
) -> None:
    """The source is on a hub that no test reaches: the record may be about these weights, or not."""
    asking.edit("recipes/second.yaml", "source: measured, evidence: replay-held-out", "source: reported")
    asking.weights("drafts/second", 3)
    asking.card("second")
    said = asking.read("release/second/0.1.0/README.md")
    asking.edit("recipes/second.yaml", "./drafts/second", "hf://acme/second@" + "0" * 40)
    result = asking.ci("--offline")
    assert results(result)["K001"]["outcome"] == "passed"
    ran = run_zoo("--zoo", asking.root, "card", "second", "--check")
    assert (ran.status, "not checked: whether the evidence is of these weights" in ran.err) == (0, True)
    asking.card("second")
    other = asking.read("release/second/0.1.0/README.md")
    assert said != other
    assert results(asking.ci("--offline"))["K001"]["outcome"] == "passed"
    asking.write("release/second/0.1.0/README.md", other + "Fast!\n")
    assert results(asking.ci("--offline"))["K001"]["outcome"] == "failed"


def test_a_card_looks_at_no_folder_outside_of_the_zoo_and_asks_no_server_but_the_hub(
    asking: Work, run_zoo: Callable[..., Ran]
) -> None:
    for source in (str(asking.keys), "https://169.254.169.254/draft/"):
        asking.edit("recipes/second.yaml", "./drafts/second", source)
        ran = run_zoo("--zoo", asking.root, "card", "second")
        assert (ran.status, "not known without reading them" in ran.err) == (0, True), ran.err
        asking.edit("recipes/second.yaml", source, "./drafts/second")


def test_a_record_that_passed_decides_nothing_where_nobody_knows_the_bytes(asking: Work) -> None:
    asking.edit("recipes/second.yaml", "./drafts/second", "hf://acme/second@" + "0" * 40)
    asking.card("second")
    said = results(asking.ci("--offline"))["V016"]
    assert (said["outcome"], said["required"]) == ("not_checked", False)
    asking.remove(RECORD)
    assert results(asking.ci("--offline"))["V016"]["outcome"] == "failed"


def test_a_version_that_is_published_is_asked_for_nothing(asking: Work) -> None:
    asking.edit("recipes/tiny.yaml", "gates: {}\n", ASKS)
    result = asking.ci()
    assert results(result, "tiny")["V016"]["outcome"] == "passed"
