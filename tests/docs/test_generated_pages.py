"""docs/cli.md and docs/rules.md are what scripts/docs.py writes, and what they show of settings is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.docs import PAGES
from tests.conftest import REPOSITORY
from zoo.cli import VERBS
from zoo.rules import RULES
from zoo.workspace import find_zoo

CLI = (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")
RULE_PAGE = (REPOSITORY / "docs" / "rules.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_committed_page_is_what_the_script_writes(name: str) -> None:
    committed = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
    assert committed == PAGES[name](), "run: make docs"


def test_every_verb_has_a_section() -> None:
    assert set(VERBS) <= set(re.findall(r"^## `zoo (\w+)`$", CLI, re.MULTILINE))


def test_every_rule_has_an_anchor_of_its_own() -> None:
    anchors = re.findall(r'<a id="(\w+)"></a>', RULE_PAGE)
    assert set(RULES) <= set(anchors)
    assert len(anchors) == len(set(anchors))


def test_the_pages_name_only_pages_that_exist() -> None:
    for page in (CLI, RULE_PAGE):
        for path in re.findall(r"\]\(([^)#:]+)\)", page):
            assert (REPOSITORY / "docs" / path).exists(), path


def test_the_settings_that_the_page_shows_are_settings(tmp_path: Path) -> None:
    block = re.search(r"```toml\n(.*?)```", RULE_PAGE, re.DOTALL)
    assert block is not None
    (tmp_path / "pyproject.toml").write_text(block[1])
    assert find_zoo(tmp_path).severity == {"R020": "error", "E005": "note"}
