"""docs/hazards.md says of every hazard exactly what the package says, and names no rule that is not there."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY
from zoo.engines.hazards import HAZARDS
from zoo.rules import RULES

PAGE = (REPOSITORY / "docs" / "hazards.md").read_text(encoding="utf-8")


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the table rows below a heading, up to the next one."""
    section = PAGE.partition(heading)[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[1:]]


def test_the_table_of_hazards_is_the_package_s() -> None:
    stated = [[h.code, h.name, h.range, h.card, h.advice, h.source] for h in HAZARDS.values()]
    assert rows_of("# Hazards") == stated


def test_the_table_of_arguments_is_the_registry_s() -> None:
    codes = [code for code in sorted(RULES) if re.fullmatch(r"E03\d", code)]
    stated = [[code, RULES[code].name, str(RULES[code].severity), RULES[code].summary] for code in codes]
    assert rows_of("## Arguments") == stated


def test_every_code_on_the_page_can_be_explained() -> None:
    assert set(re.findall(r"\b[A-Z]\d{3}\b", PAGE)) <= set(RULES) | set(HAZARDS)
