"""Every case of the corpus gives exactly the codes that its expect.json lists: no fewer, and no more."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from zoo.results import Severity
from zoo.rules import RULES, Level
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

CORPUS = Path(__file__).parent
CASES = sorted(path.parent for path in CORPUS.glob("*/*/expect.json"))
# Claims and evidence: tests/card.
KINDS_OF_THEIR_OWN = ("K002", "K003", "K004", "K005", "K006")
# Needs a file that its owner may not read, which root always may: tests/checkpoint/test_folder.py.
WITHOUT_A_CASE = {"F006", *KINDS_OF_THEIR_OWN}


def codes_of(folder: Path, expect: dict[str, Any]) -> set[str]:
    """The codes of the errors and warnings that ``zoo verify`` has about the checkpoint in ``folder``."""
    level = Level.DEEP if expect.get("deep") else Level.HEADER
    if expect.get("recipe"):
        report = verify_recipe(find_zoo(folder.parent), "draft", checkpoint=str(folder), level=level).report
    else:
        report = verify_source(str(folder), level=level).report
    severities = {RULES[code].severity for code in expect["codes"]}
    assert report.exit_status == int(Severity.ERROR in severities)
    if not expect["codes"]:  # not even a note, but for the waiver that all recipes of the corpus share
        assert {finding.code for finding in report.findings} <= {"R020"}
    return {finding.code for finding in report.findings if finding.severity is not Severity.NOTE}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_a_case_gives_exactly_the_codes_that_it_expects(case: Path, tmp_path: Path) -> None:
    expect = expectation(case)
    make_of(case).make(tmp_path / "draft")
    # A case may put its checkpoint deeper, as in a Hugging Face cache.
    folder = tmp_path / "draft" / expect.get("folder", "")
    assert codes_of(folder, expect) == set(expect["codes"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_a_case_says_what_it_is(case: Path) -> None:
    expect = expectation(case)
    assert set(expect) <= {"codes", "why", "recipe", "folder", "deep"}
    assert expect["why"].endswith(".")
    assert bool(expect["codes"]) == (case.parent.name == "bad")
    assert set(expect["codes"]) <= set(RULES)


def test_every_code_of_an_error_or_warning_has_a_case() -> None:
    quiet = {code for code, rule in RULES.items() if rule.severity is Severity.NOTE}
    covered = {code for case in CASES for code in expectation(case)["codes"]}
    assert set(RULES) - quiet - WITHOUT_A_CASE == covered - WITHOUT_A_CASE


def expectation(case: Path) -> dict[str, Any]:
    expect: dict[str, Any] = json.loads((case / "expect.json").read_text())
    return expect


def make_of(case: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"corpus_{case.name.replace('-', '_')}", case / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
