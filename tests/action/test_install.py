"""The first step of the action, run for real: a new environment, the tool built from the action's own folder.

What the tool needs is not downloaded again: the new environment sees the packages of this one.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.action.conftest import ACTION
from tests.action.runner import Ran, run_step, steps
from tests.conftest import REPOSITORY
from zoo import __version__

# In words of pip: no isolation, so that hatchling is found here, and no index.
HERE = {"PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PIP_NO_COMPILE": "1"}


def install(
    where: Path,
    temp: Path,
    *,
    extras: str = "",
    python: str = sys.executable,
    env: Mapping[str, str] | None = None,
) -> Ran:
    return run_step(
        steps(ACTION)["Install draft-zoo"],
        where,
        temp,
        expressions={"inputs.extras": extras, "inputs.python": python},
        env={"GITHUB_ACTION_PATH": str(REPOSITORY), **(env or {})},
    )


def test_the_tool_is_installed_from_the_action_and_not_from_the_workspace(tmp_path: Path) -> None:
    workspace, temp = tmp_path / "work space", tmp_path / "temp orary"
    (workspace / "zoo").mkdir(parents=True)
    (workspace / "zoo" / "__init__.py").write_text('__version__ = "6.6.6"\n')
    for module in ("pip", "venv", "hatchling"):
        (workspace / f"{module}.py").write_text("raise SystemExit('the pull request runs')\n")
    venv = temp / "draft-zoo" / "venv"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(venv)}))
    packages.mkdir(parents=True)
    (packages / "here.pth").write_text(sysconfig.get_path("purelib") + "\n")
    ran = install(workspace, temp, extras="sign,serve", env=HERE)
    assert ran.status == 0, ran.log
    assert ran.outputs == {"command": str(venv / "bin" / "zoo")}
    shown = subprocess.run([ran.outputs["command"], "--version"], capture_output=True, text=True, check=True)
    assert __version__ in shown.stdout
    found = subprocess.run(
        [venv / "bin" / "python", "-I", "-c", "import zoo; print(zoo.__file__)"],
        cwd=workspace,
        capture_output=True,
        text=True,
        check=True,
    )
    installed = Path(found.stdout.strip()).parent
    assert installed == packages / "zoo"
    assert (installed / "verify.py").read_bytes() == (REPOSITORY / "zoo" / "verify.py").read_bytes()


@pytest.mark.parametrize("extras", ["sign,", "$(touch pwned)", "sign]", "sign\nserve", "-e"])
def test_extras_are_names(tmp_path: Path, extras: str) -> None:
    ran = install(tmp_path, tmp_path, extras=extras)
    assert ran.status == 2
    assert "input extras" in ran.annotations("error")[0].data
    assert not (tmp_path / "draft-zoo").exists()


def test_an_old_python_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    ran = install(tmp_path, tmp_path, python=str(old))
    assert ran.status == 2
    assert "Python 3.11" in ran.annotations("error")[0].data
