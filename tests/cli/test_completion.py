"""Completion in a shell: click's own, asked for by a real bash, and cheap."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from zoo.cli import VERBS

# A zoo command on PATH that is this checkout's, whatever is installed.
COMMAND = f'#!/bin/sh\nexec {sys.executable} -m zoo "$@"\n'


@pytest.fixture
def path(tmp_path: Path) -> str:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "zoo").write_text(COMMAND)
    (folder / "zoo").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def complete(path: str, *words: str, folder: Path = REPOSITORY) -> list[str]:
    """What bash offers after ``words``, of which the last is begun."""
    script = """
    set -e
    eval "$(_ZOO_COMPLETE=bash_source zoo)"
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _zoo_completion zoo
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    bash = shutil.which("bash")
    assert bash is not None
    ran = subprocess.run(
        [bash, "-c", script, "bash", *words],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout.split()


def test_bash_completes_verbs_options_and_recipes(path: str) -> None:
    assert sorted(complete(path, "zoo", "")) == sorted(VERBS)
    assert complete(path, "zoo", "out") == ["outdated"]
    assert complete(path, "zoo", "show", "kimi") == ["kimi-ft-v3"]
    assert complete(path, "zoo", "verify", "--fo") == ["--format"]


def test_recipes_are_those_of_the_zoo_that_is_named(path: str, tmp_path: Path) -> None:
    (tmp_path / "zoo" / "recipes").mkdir(parents=True)
    (tmp_path / "zoo" / "zoo.toml").write_text("")
    (tmp_path / "zoo" / "recipes" / "unreadable.yaml").write_text("{")  # only its name matters
    assert complete(path, "zoo", "--zoo", str(tmp_path / "zoo"), "card", "") == ["unreadable"]
    assert complete(path, "zoo", "card", "", folder=tmp_path) == []  # no zoo: nothing, and no message


def test_completing_a_verb_imports_no_verb() -> None:
    code = "import sys, zoo.cli; zoo.cli.run([])\nprint(*sys.modules, file=sys.stderr)"
    asked = {"_ZOO_COMPLETE": "bash_complete", "COMP_WORDS": "zoo ver", "COMP_CWORD": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "plain,verify\n"
    imported = set(ran.stderr.split())
    assert "zoo.cli.group" in imported
    assert not imported & {"zoo.cli.verify", "zoo.rules", "zoo.recipe.load", "jsonschema", "ruamel.yaml"}
