"""docs/reports.md names only rules and hazards that exist, and leaves out no rule made from a report."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY
from zoo.engines.hazards import HAZARDS
from zoo.rules import RULES

PAGE = (REPOSITORY / "docs" / "reports.md").read_text(encoding="utf-8")
CODES = set(re.findall(r"\b[A-Z]\d{3}\b", PAGE))


def test_every_code_on_the_page_is_a_rule_or_a_hazard() -> None:
    assert CODES - set(RULES) - set(HAZARDS) == set()


def test_every_rule_made_from_a_report_is_on_the_page() -> None:
    made = {code for code, rule in RULES.items() if rule.check.__module__ == "zoo.rules.reports"}
    assert made
    assert made <= CODES


def test_every_row_names_a_rule_or_says_who_else_sees_it() -> None:
    rows = [
        line.split("|")[3] for line in PAGE.splitlines() if line.startswith("| ") and "| rules |" not in line
    ]
    assert len(rows) > 40
    for row in rows:
        assert re.search(r"[A-Z]\d{3}|serving only|engine", row), row
