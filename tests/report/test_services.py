"""What a service shows of a report: the place in the repository, the rule, the limits it has."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.corpus import kit
from tests.report import made
from tests.report.checks import valid_junit, valid_sarif
from tests.report.runner import commands
from zoo.report import github, junit, sarif
from zoo.report.findings import entries
from zoo.results import CheckResult, Finding, Outcome, Report, Severity, Where

Run = Callable[..., Ran]


def report(*findings: Finding, strict: bool = False) -> Report:
    results = tuple(CheckResult(each.code, Outcome.FAILED, findings=(each,)) for each in findings)
    return Report("header", {"recipe": "example", "file": made.RECIPE}, results, strict)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A zoo in the folder ``drafts`` of a git repository, whose only draft has another block size."""
    zoo = tmp_path / "drafts"
    (tmp_path / ".git").mkdir()
    kit.good_draft(zoo / "draft")
    kit.good_recipe(zoo / "draft")
    config = kit.config() | {"block_size": 9}
    (zoo / "draft" / "config.json").write_text(json.dumps(config))
    return zoo


def line_of(zoo: Path, text: str) -> int:
    lines = (zoo / "recipes" / "draft.yaml").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


def test_an_annotation_is_at_the_line_of_the_recipe_from_the_root_of_the_repository(
    run_zoo: Run, broken: Path
) -> None:
    ran = run_zoo("--zoo", broken, "verify", "draft", "--format", "github")
    assert ran.status == 1
    first = commands(ran.out)[0]
    assert first.name == "error"
    assert first.properties["file"] == "drafts/recipes/draft.yaml"
    assert int(first.properties["line"]) == line_of(broken, "block_size:")
    assert first.properties["title"] == "C011 block-size (draft)"
    assert "at config.json /block_size" in first.data
    assert ran.out.splitlines()[-1].startswith("failed  1 error, 0 warnings")


def test_sarif_of_a_verification_is_valid_and_names_the_rule_with_its_help(
    run_zoo: Run, broken: Path
) -> None:
    ran = run_zoo("--zoo", broken, "verify", "draft", "--format", "sarif")
    run = valid_sarif(ran.out)
    (error,) = [each for each in run["results"] if each["level"] == "error"]
    rule = run["tool"]["driver"]["rules"][error["ruleIndex"]]
    assert (rule["id"], rule["name"]) == ("C011", "block-size")
    assert "What it does" in rule["help"]["markdown"]
    place = error["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "drafts/recipes/draft.yaml", "uriBaseId": "%SRCROOT%"}
    assert place["region"]["startLine"] == line_of(broken, "block_size:")
    (invocation,) = run["invocations"]
    assert invocation["exitCode"] == 1
    assert invocation["executionSuccessful"] is True
    told = invocation["toolExecutionNotifications"]
    assert "the recipe names no base draft" in told[0]["message"]["text"]
    assert {each["level"] for each in told} == {"note"}


def test_junit_of_a_verification_is_valid_and_says_why_a_check_was_skipped(
    run_zoo: Run, broken: Path
) -> None:
    ran = run_zoo("--zoo", broken, "verify", "--all", "--format", "junit")
    root = valid_junit(ran.out)
    (suite,) = root
    assert (suite.get("name"), suite.get("failures")) == ("draft", "1")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    failure = cases["C011 block-size"].find("failure")
    assert "recipes/draft.yaml" in failure.text
    assert cases["B001 base-config"].find("skipped").get("message") == "the recipe names no base draft"
    assert len(cases["C001 config-missing"]) == 0


def test_markdown_of_a_verification_has_the_finding_and_what_to_do(run_zoo: Run, broken: Path) -> None:
    ran = run_zoo("--zoo", broken, "verify", "draft", "--format", "markdown")
    assert ran.out.startswith("## Draft zoo: failed\n\n### `draft`: failed\n")
    assert '"block_size" is "9", the recipe says "8"<br>→ ' in ran.out
    assert "`config.json /block_size`<br>`recipes/draft.yaml:" in ran.out


def test_a_source_without_a_recipe_has_a_place_too(run_zoo: Run, broken: Path) -> None:
    (broken / "draft" / "config.json").write_text("{")
    run = valid_sarif(run_zoo("verify", broken / "draft", "--format", "sarif").out)
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "config.json"


def test_what_should_have_been_checked_and_was_not_is_a_warning_and_no_success() -> None:
    named = [("example", Report("header", {"file": made.RECIPE}, made.report("unreachable").results[3:4]))]
    (warning,) = commands(github.render(named))
    assert (warning.name, warning.properties["title"]) == ("warning", "example: not checked")
    assert warning.data == "unreachable\nF001"
    assert github.render(named).splitlines()[-1].startswith("could not check")
    (invocation,) = sarif.document(named)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["level"] == "error"
    assert "(needed at this level)" in junit.render(named)


@pytest.mark.parametrize("severity", Severity)
def test_a_step_shows_ten_of_a_kind_and_the_last_says_how_many_more(severity: Severity) -> None:
    many = [made.finding(str(number), "C010", severity) for number in range(25)]
    found = commands(github.render([("example", report(*many))]))
    assert len(found) == 10
    assert found[-1].properties["title"] == "16 more"


def test_a_fingerprint_stays_while_lines_and_words_change_and_is_never_shared() -> None:
    before = made.finding("words")
    moved = replace(before, message="other", related=(replace(before.related[0], line=99, column=1),))
    other = replace(before, where=replace(before.where, tensor="fc.weight"))
    marks = [
        [result["partialFingerprints"]["primaryLocationLineHash"] for result in _results(*found)]
        for found in ((before,), (moved,), (other,), (before, replace(before, message="again")))
    ]
    assert marks[0] == marks[1]
    assert marks[2] != marks[0]
    assert marks[3] == [marks[0][0], marks[0][0].replace(":1", ":2")]


def _results(*findings: Finding) -> list[dict[str, dict[str, str]]]:
    results: list[dict[str, dict[str, str]]] = sarif.document([("example", report(*findings))])["runs"][0][
        "results"
    ]
    return results


def test_sarif_stays_within_what_github_takes() -> None:
    note = made.finding("n", severity=Severity.NOTE)
    many = [replace(note, message=str(number)) for number in range(5_010)]
    run = valid_sarif(json.dumps(sarif.document([("example", report(*many, made.finding("e")))])))
    assert len(run["results"]) == 5_000
    assert run["results"][0]["level"] == "error"
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "11 more findings are left out"


def test_with_strict_a_warning_fails_the_case() -> None:
    warning = made.finding("words", "R010", Severity.WARNING)
    for strict, failures in ((True, "1"), (False, "0")):
        root = valid_junit(junit.render([("example", report(warning, strict=strict))]))
        assert root.get("failures") == failures
        assert "warning: words" in "".join(root.itertext())


def test_what_two_recipes_share_is_said_once_and_a_note_after_an_error() -> None:
    shared = Finding("words", "", Where("recipes/targets/t.yaml", 1), code="R010", severity=Severity.NOTE)
    own = made.finding("own")
    found = entries([("a", report(shared)), ("b", report(shared, own))])
    assert [(each.name, each.finding) for each in found] == [("b", own), ("a", shared)]


@pytest.mark.parametrize("file", ["../x.yaml", "/etc/passwd", "recipes/../../x", "config.json", ""])
def test_a_file_that_is_not_of_the_repository_is_shown_at_the_recipe(file: str) -> None:
    (entry,) = entries([("example", report(Finding("words", "", Where(file), code="C010")))])
    assert entry.place == Where(made.RECIPE)
