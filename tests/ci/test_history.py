"""Every pull request of the scripted history gets exactly the verdict, annotations and comment it must."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.example import Work
from tests.ci.history import HISTORY, PullRequest
from tests.report.runner import Command, commands

MARK = "<!-- draft-zoo:ci -->"
WORDS = {0: "passed", 1: "failed", 2: "could not check"}
VERDICTS = {"passed": "passed", "failed": "failed", "could not check": "not checked"}


def codes(report: dict[str, Any]) -> set[str]:
    """The codes of errors and warnings, and of notes about the change itself."""
    found = [finding for result in report["results"] for finding in result["findings"]]
    return {each["code"] for each in found if each["severity"] != "note" or each["code"][0] == "V"}


def as_shown(command: Command) -> str:
    """An annotation in the words of the history: "KIND CODE NAME: FILE:LINE"."""
    title = command.properties["title"]
    name = re.fullmatch(r"(?:(.+): )?not checked", title)
    if name is not None:
        return f"{command.name} not-checked {name[1] or ''}".rstrip()
    code, _, recipe = re.fullmatch(r"([A-Z]\d{3}) ([a-z-]+)(?: \((.+)\))?", title).groups()  # type: ignore
    line = command.properties.get("line")
    assert line == command.properties.get("endLine")
    place = command.properties["file"] + (f":{line}" if line else "")
    return f"{command.name} {code}{f' {recipe}' if recipe else ''}: {place}"


def with_line(work: Work, expected: str) -> str:
    """The number of the line that an expected annotation names by its first words."""
    head, _, text = expected.partition(" > ")
    if not text:
        return expected
    lines = work.read(head.rpartition(": ")[2]).splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if line.strip().startswith(text)]
    return f"{head}:{number}"


def headline(pull_request: PullRequest) -> str:
    """The numbers that the comment begins with: of what is shown, and of files."""
    kinds = [each.partition(" ")[0] for each in pull_request.annotations if "not-checked" not in each]
    counts = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for word, kind in (("error", "error"), ("warning", "warning"), ("note", "notice"))
        for count in [kinds.count(kind)]
    ]
    files = f"{pull_request.files} file{'' if pull_request.files == 1 else 's'}"
    return f"{', '.join(counts)}; {files} of the zoo changed, compared with `{pull_request.base}` ("


def rows(comment: str) -> list[str]:
    """The rows of the first table, without the marks of code."""
    table = comment.split("|---|---|---|---|---|---|---|\n", 1)
    lines = table[1].split("\n\n")[0].splitlines() if len(table) == 2 else []
    return [line.removeprefix("| ").removesuffix(" |").replace("`", "") for line in lines]


def sections(comment: str) -> list[str]:
    return [line.removeprefix("### ") for line in comment.splitlines() if line.startswith("### ")]


@pytest.mark.parametrize("pull_request", HISTORY, ids=lambda each: each.title)
def test_a_pull_request_gets_its_verdict_annotations_and_comment(
    clone: Callable[[str], Work], pull_request: PullRequest
) -> None:
    work = clone(pull_request.base)
    pull_request.edit(work)
    work.commit()
    forms = {form: work.keys / form for form in ("github", "comment")}
    writes = [word for form, file in forms.items() for word in ("--write", f"{form}={file}")]
    result = work.ci(*writes, base=pull_request.base)

    said = {draft["name"]: codes(draft["report"]) for draft in result["drafts"]}
    said |= {"": codes(result["tree"])}
    assert {name: found for name, found in said.items() if found} == pull_request.codes
    cells = [row.split(" | ") for row in pull_request.rows]
    verdicts = {name: VERDICTS[word] for name, _, _, word, *_ in cells}
    assert {draft["name"]: draft["verdict"] for draft in result["drafts"]} == verdicts
    assert result["exit"] == pull_request.exit

    shown = [as_shown(each) for each in commands(forms["github"].read_text())]
    assert sorted(shown) == sorted(with_line(work, each) for each in pull_request.annotations)

    comment = forms["comment"].read_text()
    assert comment.startswith(
        f"{MARK}\n\n## Draft zoo: {WORDS[pull_request.exit]}\n\n{headline(pull_request)}"
    )
    assert comment.count(MARK) == 1
    assert rows(comment) == list(pull_request.rows)
    assert ("No recipe is affected." in comment) == bool(pull_request.files and not pull_request.rows)
    assert ("Nothing to judge." in comment) == (not pull_request.files)
    whole = {each.partition(" ")[0] for each in pull_request.annotations if re.match(r"\w+ \w+: ", each)}
    about = [f"The change as a whole: {'failed' if 'error' in whole else 'passed'}"] if whole else []
    assert sections(comment) == about + [f"`{name}`: {word}" for name, _, _, word, *_ in cells]


@pytest.mark.parametrize("title", ["another revision of the target", "a waiver", "a moved tag"])
def test_a_second_run_gives_the_same_comment_byte_for_byte(clone: Callable[[str], Work], title: str) -> None:
    (pull_request,) = [each for each in HISTORY if each.title == title]
    work = clone(pull_request.base)
    pull_request.edit(work)
    work.commit()
    files = [work.keys / name for name in ("first", "second")]
    for file in files:
        work.ci("--write", f"comment={file}", base=pull_request.base)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("the key of a signer replaced", 'say: it renders as "| Replay | trace other |'),
        ("a template that touches every card", 'say: it renders as "Of a zoo."'),
        ("an edited card", 'it says "| Accept length | **2.9** |'),
    ],
)
def test_a_card_that_differs_is_told_by_the_first_place_alone(
    clone: Callable[[str], Work], title: str, expected: str
) -> None:
    (pull_request,) = [each for each in HISTORY if each.title == title]
    work = clone(pull_request.base)
    pull_request.edit(work)
    work.commit()
    result = work.ci(base=pull_request.base)
    results = [each for draft in result["drafts"] for each in draft["report"]["results"]]
    messages = [found["message"] for each in results if each["code"] == "K001" for found in each["findings"]]
    assert messages
    assert all(expected in message for message in messages), messages


def test_the_history_is_long_enough() -> None:
    assert len({each.title for each in HISTORY}) == len(HISTORY) >= 25
    assert {each.exit for each in HISTORY} == {0, 1, 2}
