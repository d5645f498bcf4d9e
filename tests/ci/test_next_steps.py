"""What ``zoo ci`` could not check names the command that can: it has no option of ``zoo verify``."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.example import Work
from tests.conftest import Ran

Clone = Callable[[str], Work]


def unusable(said: str) -> list[str]:
    """The options in ``said`` that its reader cannot use: neither of zoo ci, nor of the command before it."""
    found = []
    for option in re.finditer(r"--[a-z][a-z-]*", said):
        named = re.findall(r"\bzoo ([a-z]+)", said[: option.start()])
        command = importlib.import_module(f"zoo.cli.{named[-1] if named else 'ci'}").command
        if not any(option[0] in parameter.opts for parameter in command.params):
            found.append(option[0])
    return found


def said(draft: dict[str, Any]) -> list[str]:
    results = draft["report"]["results"]
    hints = [finding["hint"] for each in results for finding in each["findings"]]
    return [each["reason"] for each in results if each.get("reason")] + hints


@pytest.fixture
def unknown(clone: Clone) -> Work:
    """A change of a draft of which nobody knows where it is, with statements about a base and a target."""
    work = clone("main")
    work.edit("recipes/second.yaml", "source: ./drafts/second", "source: unknown")
    base = "base: {repo: acme/base, revision: unknown, config: identical, inventory: identical, "
    work.write(
        "recipes/second.yaml",
        work.read("recipes/second.yaml") + base + "unchanged_tensors: [fc.weight]}\ngates: {replay: {}}\n",
    )
    return work


def test_no_reason_and_no_hint_names_an_option_that_the_reader_does_not_have(unknown: Work) -> None:
    result = unknown.ci("--offline")
    [draft] = [each for each in result["drafts"] if each["name"] == "second"]
    texts = said(draft)
    assert [each for each in texts if unusable(each)] == []
    shown = "\n".join(texts)
    for command in ("--checkpoint FOLDER", "--deep --base FOLDER", "--target FOLDER"):
        assert f"zoo verify second {command}" in shown, shown


def test_what_decides_exit_2_comes_first_and_is_marked(unknown: Work, run_zoo: Callable[..., Ran]) -> None:
    ran = run_zoo("--zoo", unknown.root, "ci", "--base", "main", "--now", "2026-12-01", "--offline")
    [section] = [each for each in ran.out.split("\n\n") if each.startswith("== second")]
    lines = [each for each in section.splitlines() if each.lower().startswith("not checked")]
    assert [each for each in lines if each.startswith("NOT CHECKED, and needed: ")] == lines[:1]
    assert "the recipe's source is unknown: state it (checkpoint.source" in lines[0]
    assert len(lines) > 1
    [draft] = [each for each in unknown.ci()["drafts"] if each["name"] == "second"]
    needed = {each["reason"] for each in draft["report"]["results"] if each.get("required")}
    assert any(reason in lines[0] for reason in needed), json.dumps(sorted(needed))
