"""docs/threat-model.md names only tests and rules that exist, and no defence without a test."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.conftest import REPOSITORY
from zoo.engines.hazards import HAZARDS
from zoo.rules import RULES

PAGE = (REPOSITORY / "docs" / "threat-model.md").read_text(encoding="utf-8")
OF_RELEASES = {"P001", "P002", "P003", "P004", "P005"}  # of zoo verify --signature: docs/trust.md


@cache
def all_tests() -> frozenset[str]:
    """The name of every test function."""
    found = set()
    for path in (REPOSITORY / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.add(node.name)
    return frozenset(found)


def rows() -> list[list[str]]:
    """The cells of the tables that name tests."""
    found = []
    for table in re.findall(r"(?m)^\| what \|.*\|\n\|(?:---\|)+\n((?:\|.*\n)+)", PAGE):
        found += [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines()]
    return found


def test_every_test_on_the_page_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named
    assert named - all_tests() == set()


def test_every_defence_on_the_page_has_a_test() -> None:
    assert len(rows()) > 30
    for what, how, shown in rows():
        assert what.strip()
        assert how.strip()
        assert re.search(r"`test_\w+`", shown), what


def test_every_code_on_the_page_is_a_rule() -> None:
    codes = set(re.findall(r"\b[A-Z]\d{3}\b", PAGE))
    assert codes - set(RULES) - set(HAZARDS) - OF_RELEASES == set()


def test_every_file_in_tests_hostile_is_on_the_page() -> None:
    """Each hostile item has its row."""
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    for path in (REPOSITORY / "tests" / "hostile").glob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        ours = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        missing = {name for name in ours if name.startswith("test_")} - named
        assert not missing, f"{path.name}: {sorted(missing)}"
