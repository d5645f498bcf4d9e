"""Every case of the corpus gives exactly the codes that its expect.json lists: no fewer, and no more."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.corpus import codes
from tests.corpus.cases import CASES, CORPUS, entry, expectation, make_of
from zoo.drafts.family import family_of
from zoo.results import Severity
from zoo.rules import RULES, Level
from zoo.schemas import schema
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

# Claims and evidence: tests/card; what evidence says of a gate: tests/release/test_gate_rules.py.
KINDS_OF_THEIR_OWN = ("K002", "K003", "K004", "K005", "K006", "S001", "T001")
# Need a file that its owner may not read, which root always may (tests/checkpoint/test_folder.py), and a hub
# (tests/remote). Commands in a text: tests/launch_commands. Signatures: tests/trust. Changes: tests/ci.
CHANGES = {code for code, rule in RULES.items() if rule.level is Level.CHANGE}
SIGNATURES = ("P001", "P002", "P003", "P004", "P005")
WITHOUT_A_CASE = {"F006", "F220", "L012", *KINDS_OF_THEIR_OWN, *SIGNATURES, *CHANGES}


def codes_of(folder: Path, expect: dict[str, Any]) -> set[str]:
    """The codes of the errors and warnings that ``zoo verify`` has about the checkpoint in ``folder``."""
    level = Level.DEEP if expect.get("deep") else Level.HEADER
    target = str(folder.parent / expect["target"]) if "target" in expect else None
    if expect.get("recipe"):
        zoo = find_zoo(folder.parent)
        report = verify_recipe(zoo, "draft", checkpoint=str(folder), target=target, level=level).report
    else:
        report = verify_source(str(folder), target=target, level=level).report
    severities = {RULES[code].severity for code in expect["codes"]}
    assert report.exit_status == int(Severity.ERROR in severities)
    if not expect["codes"]:  # not even a note, but for what the recipes of the corpus waive
        assert all(" (waived: " in finding.message for finding in report.findings)
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
    assert set(expect) <= {"codes", "why", "recipe", "folder", "deep", "target"}
    assert expect["why"].endswith(".")
    assert bool(expect["codes"]) == (case.parent.name == "bad")
    assert set(expect["codes"]) <= set(RULES)


def test_every_code_of_an_error_or_warning_has_a_case() -> None:
    quiet = {code for code, rule in RULES.items() if rule.severity is Severity.NOTE}
    covered = {code for case in CASES for code in expectation(case)["codes"]}
    assert set(RULES) - quiet - WITHOUT_A_CASE == covered - WITHOUT_A_CASE


def test_the_good_cases_have_every_family_with_and_without_a_recipe(tmp_path: Path) -> None:
    found = set()
    for case in CASES:
        if case.parent.name == "good":
            make_of(case).make(tmp_path / case.name / "draft")
            folder = tmp_path / case.name / "draft" / expectation(case).get("folder", "")
            family = family_of(json.loads((folder / "config.json").read_text()))
            found.add((family and family.name, bool(expectation(case).get("recipe"))))
    for name in schema("recipe-1")["properties"]["checkpoint"]["properties"]["family"]["enum"]:
        assert {(name, True), (name, False)} <= found


def test_the_corpus_is_as_large_as_its_page_says() -> None:
    kinds = [case.parent.name for case in CASES]
    assert kinds.count("bad") >= 150
    assert kinds.count("good") >= 45


def test_the_corpus_needs_nothing_of_zoo() -> None:
    checks_of_zoo = {"codes.py", "test_corpus.py"}
    sources = [path for path in CORPUS.glob("*.py") if path.name not in checks_of_zoo]
    for path in [*sources, *(case / "make.py" for case in CASES)]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not [name for name in names if name.partition(".")[0] == "zoo"], path


def test_the_corpus_is_written_with_its_index(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for status in (0, 2):  # a second time the folder exists
        command = [sys.executable, "-m", "tests.corpus", str(out)]
        assert subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False).returncode == status
    index = json.loads((out / "index.json").read_text())
    assert index["cases"] == [entry(case) for case in CASES]
    for each in index["cases"]:
        for key in ("checkpoint", "target"):
            assert each[key] is None or (out / each[key]).exists()
        assert (
            each["recipe"] is None or (out / each["recipe"]).is_symlink() or (out / each["recipe"]).is_file()
        )


def test_the_page_of_codes_is_up_to_date() -> None:
    assert codes.PAGE.read_text(encoding="utf-8") == codes.page(), "run python -m tests.corpus.codes"
