"""The words of the result: singular and plural, nothing to judge, and what it is that changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import pytest

from tests.ci.example import SIGNERS, Work
from tests.ci.history import good_new_draft
from zoo.ci import text
from zoo.ci.model import CiResult, DraftResult, Kind
from zoo.report import comment, summary
from zoo.results import CheckResult, Finding, Outcome, Report, Severity

Clone = Callable[[str], Work]
NOTHING = Report("change", {}, ())


def draft(name: str = "mine", **values: Any) -> DraftResult:
    made = DraftResult(name, f"recipes/{name}.yaml", Kind.UNCHANGED, (), NOTHING)
    return replace(made, **values)


def said(*drafts: DraftResult, tree: Report = NOTHING) -> str:
    result = CiResult("main", "a" * 40, "b" * 40, False, (), tree, drafts)
    return click.unstyle(text.render(result))


def test_a_recipe_without_a_cause_has_no_empty_brackets_and_no_because_of_nothing() -> None:
    result = CiResult("main", "a" * 40, "b" * 40, False, (), NOTHING, (draft(version="1.0.0"),))
    assert "\n== mine 1.0.0  recipe unchanged, passed\n" in said(*result.drafts)
    for body in (summary.render(result), comment.render(result)):
        assert "Because of" not in body
        assert "### `mine`: passed\n" in body


def test_a_recipe_without_a_version_leaves_no_gap() -> None:
    assert "\n== mine  recipe added, passed\n" in said(draft(kind=Kind.ADDED))


@pytest.mark.parametrize(
    ("number", "words"),
    [(1, "1 error, 0 warnings, 0 notes"), (2, "2 errors, 0 warnings, 0 notes")],
)
def test_one_is_not_many(number: int, words: str) -> None:
    found = tuple(Finding(f"m{each}", "h", code="V001", severity=Severity.ERROR) for each in range(number))
    results = (CheckResult("V001", Outcome.FAILED, findings=found),)
    assert f"\nfailed  1 recipe affected: {words}" in said(draft(report=Report("header", {}, results)))


def test_nothing_to_judge_is_said_as_that() -> None:
    assert said().endswith("\npassed  nothing to judge")
    assert said(draft(), draft("other")).endswith(
        "\npassed  2 recipes affected: 0 errors, 0 warnings, 0 notes"
    )


def test_changed_weights_do_not_make_a_changed_recipe(clone: Clone) -> None:
    work = clone("main")
    good_new_draft(work)
    work.weights("checkpoint")
    file = work.keys / "text.out"
    work.ci("--write", f"text={file}")
    lines = file.read_text().splitlines()
    assert "== tiny 1.0.0  recipe unchanged, failed  (checkpoint/model.safetensors)" in lines
    assert [line for line in lines if line.startswith("== fifth 1.0.0  recipe added, passed  (")]


def test_a_signer_is_told_without_trailing_blanks(clone: Clone) -> None:
    work = clone("main")
    work.write("zoo.toml", work.read("zoo.toml") + SIGNERS.format("alice"))
    (finding,) = [
        found for each in work.ci()["tree"]["results"] if each["code"] == "V011" for found in each["findings"]
    ]
    assert finding["message"] == 'setting signers was not set and becomes "alice keys/alice.pub"'
