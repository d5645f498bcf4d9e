"""docs/launch.md is true: its commands run, and it explains every code about commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from tests.conftest import REPOSITORY, Ran
from zoo.rules import RULES

PAGE = (REPOSITORY / "docs" / "launch.md").read_text()


@pytest.mark.parametrize("command", re.findall(r"^\$ zoo (.*)$", PAGE, re.MULTILINE))
def test_every_command_of_the_page_runs(
    run_zoo: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert run_zoo(*shlex.split(command)).status == 0


def test_the_page_has_every_rule_about_flags_with_its_severity() -> None:
    shown = dict(re.findall(r"^\| (L\d{3}) \| (\w+) \|", PAGE, re.MULTILINE))
    assert shown == {code: str(RULES[code].severity) for code in RULES if "L006" <= code < "L100"}
