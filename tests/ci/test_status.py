"""A change that is wrong in one place and could not be checked in another: it failed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ci.example import Work
from tests.report.runner import commands

FORMS = ("text", "github", "markdown", "comment")


def out_of_reach(work: Work) -> None:
    """A changed draft on the Hub, which no test reaches: exit 2."""
    work.edit("recipes/third.yaml", "A tiny draft", "A good draft")
    work.card("third")


def of_one_recipe(work: Work) -> None:
    work.edit("recipes/fourth.yaml", "tensors: 25", "tensors: 26")


def of_the_whole(work: Work) -> None:
    work.write("release/tiny/log.jsonl", "")


@pytest.mark.parametrize(
    ("wrong", "verdicts"),
    [
        (of_one_recipe, {"fourth": "failed", "third": "not checked"}),
        (of_the_whole, {"third": "not checked", "tiny": "passed"}),
    ],
)
def test_an_error_anywhere_is_exit_1_whatever_else_could_not_be_checked(
    clone: Callable[[str], Work], wrong: Callable[[Work], None], verdicts: dict[str, str]
) -> None:
    work = clone("main")
    out_of_reach(work)
    assert work.ci()["exit"] == 2  # the control
    wrong(work)
    files = {form: work.keys / f"status.{form}" for form in FORMS}
    writes = [word for form, file in files.items() for word in ("--write", f"{form}={file}")]
    result = work.ci(*writes)  # whose exit status is that of the process
    assert {draft["name"]: draft["verdict"] for draft in result["drafts"]} == verdicts
    assert (result["exit"], result["verdict"]) == (1, "failed")
    said = {form: file.read_text() for form, file in files.items()}
    for form in ("markdown", "comment"):
        assert "\n## Draft zoo: failed\n" in f"\n{said[form]}", form
    assert said["github"].splitlines()[-1].startswith("failed  ")
    assert said["text"].splitlines()[-1].startswith("failed  ")
    assert {each.name for each in commands(said["github"])} >= {"error", "warning"}
