"""The registry: every rule is documented, coded and reachable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import zoo
from zoo.engines.hazards import HAZARDS
from zoo.results import Severity
from zoo.rules import RULES, Level, Rule
from zoo.rules.subject import Subject

REQUIRED = {"What it does", "Why is this bad", "Example", "Use instead", "Since"}


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_every_rule_is_documented_under_the_fixed_headings(rule: Rule) -> None:
    assert set(rule.sections) >= REQUIRED
    assert all(rule.sections.values())
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.sections["Since"])
    assert rule.summary.endswith(".")
    assert rule.doc.split("\n")[1] == "", "a blank line follows the summary"


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_every_rule_needs_materials_that_a_subject_has(rule: Rule) -> None:
    assert rule.needs
    for material in rule.needs:
        assert hasattr(Subject(None, None), material)


def test_names_are_unique_and_codes_sit_in_their_group() -> None:
    names = [rule.name for rule in RULES.values()]
    assert len(names) == len(set(names))
    assert {code[0] for code in RULES} <= set("RFICDBELTSKPVX")


def test_a_subject_without_materials_checks_nothing_and_says_why() -> None:
    from zoo.results import Outcome
    from zoo.rules import run

    levels = (Level.DEEP, Level.SIGNATURE, Level.CHANGE)
    results = [result for level in levels for result in run(Subject(None, None), level)]
    assert {result.outcome for result in results} == {Outcome.NOT_CHECKED}
    assert all(result.reason for result in results)
    assert len(results) == len(RULES)


def test_every_code_that_the_package_names_is_a_rule() -> None:
    """A finding under a code without a rule would be selected by nobody, and vanish."""
    sources = (Path(zoo.__file__).parent).rglob("*.py")
    named = {code for path in sources for code in re.findall(r'"([RFICDBELTSKPVX]\d{3})"', path.read_text())}
    documented = set(RULES) | set(HAZARDS)  # zoo rule explains a hazard that no rule of its own reports
    assert named == documented


def test_severities_are_of_the_enumeration() -> None:
    assert {rule.severity for rule in RULES.values()} <= set(Severity)
