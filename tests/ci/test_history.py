"""Every pull request of the scripted history gets exactly the verdict and the codes that it must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.example import Work
from tests.ci.history import HISTORY, PullRequest


def codes(report: dict[str, Any]) -> set[str]:
    """The codes of errors and warnings, and of notes about the change itself."""
    found = [finding for result in report["results"] for finding in result["findings"]]
    return {each["code"] for each in found if each["severity"] != "note" or each["code"][0] == "V"}


@pytest.mark.parametrize("pull_request", HISTORY, ids=lambda each: each.title)
def test_a_pull_request_gets_its_verdict(clone: Callable[[str], Work], pull_request: PullRequest) -> None:
    work = clone(pull_request.base)
    pull_request.edit(work)
    work.commit()
    result = work.ci(base=pull_request.base)
    said = {draft["name"]: codes(draft["report"]) for draft in result["drafts"]}
    said |= {"": codes(result["tree"])}
    assert {name: found for name, found in said.items() if found} == pull_request.codes
    assert {draft["name"]: draft["verdict"] for draft in result["drafts"]} == pull_request.drafts
    assert result["exit"] == pull_request.exit


def test_the_history_is_long_enough() -> None:
    assert len({each.title for each in HISTORY}) == len(HISTORY) >= 25
    assert {each.exit for each in HISTORY} == {0, 1, 2}
