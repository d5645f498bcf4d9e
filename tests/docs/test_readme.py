"""The README is true: every command in it runs, in its order, on a copy of this zoo."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, Ran

COMMANDS = re.findall(r"^\$ zoo (.*)$", (REPOSITORY / "README.md").read_text(), re.MULTILINE)


def test_every_command_of_the_readme_runs(
    run_zoo: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "draft-zoo"
    for part in ("recipes", "templates", "examples", "release"):
        shutil.copytree(REPOSITORY / part, copy / part)
    shutil.copy(REPOSITORY / "pyproject.toml", copy)
    monkeypatch.chdir(copy)
    assert len(COMMANDS) > 10
    for command in COMMANDS:
        ran = run_zoo(*shlex.split(command.replace("/tmp/zoo-readme", str(tmp_path / "out"))))
        assert ran.status == 0, f"zoo {command}\n{ran.out}{ran.err}"


def test_the_readme_names_only_files_that_exist() -> None:
    for path in re.findall(r"\]\(([^)#:]+)\)", (REPOSITORY / "README.md").read_text()):
        assert (REPOSITORY / path).exists(), path
