"""docs/versions.md is true: its commands run in its order, on two versions at one folder and on a hub."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.release.conftest import _template, place  # noqa: F401
from tests.release.hub_place import HubPlace, hub, on_hub  # noqa: F401

PAGE = (REPOSITORY / "docs" / "versions.md").read_text()
COMMANDS = re.findall(r"^\$ zoo (.*)$", PAGE, re.MULTILINE)


def test_the_commands_of_the_page_run_one_after_the_other(
    on_hub: HubPlace,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root: Path = on_hub.place.root
    old, new = on_hub.repo, f"{on_hub.repo}-new"
    assert on_hub.push().status == 0
    on_hub.place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    on_hub.place.edit_recipe(f"repo: {old}", f"repo: {new}")
    assert on_hub.push().status == 0
    monkeypatch.chdir(root)
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        args = shlex.split(command.replace("tiny-ft", "tiny").replace("OWNER/OLD-NAME", old), comments=True)
        if "--push" in args or "promote" in args:
            args += ["--to", on_hub.url]
        ran = on_hub.place.run(*args)
        assert ran.status == 0, f"zoo {command}\n{ran.err}"
    log = (root / "release" / "tiny" / "log.jsonl").read_text()
    events = re.findall(r'"event": "(\w+)"', log)
    assert events == ["published", "published", "yanked", "card", "aliased", "card", "superseded"]
    assert set(events) - {"published"} <= set(re.findall(r"event `(\w+)`", PAGE))
