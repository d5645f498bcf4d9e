"""The hook for pre-commit: its entry line on a commit in the making.

``pre-commit try-repo`` installs the tool first, which takes half a minute: it was run by hand (docs/ci.md).
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.action.conftest import EXAMPLE, RECIPE
from tests.action.runner import document
from tests.action.test_lint import HOOKS
from tests.ci.example import Work

[HOOK] = document(HOOKS)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """The example zoo as somebody copies it: in a repository without a commit."""
    shutil.copytree(EXAMPLE, tmp_path / "zoo")
    place = Work(tmp_path / "zoo", tmp_path)
    place.git("init", "-q", "-b", "main")
    place.git("add", "-A")
    return place


def hook(work: Work) -> subprocess.CompletedProcess[str]:
    program, *args = shlex.split(HOOK["entry"])
    assert HOOK["pass_filenames"] is False
    return subprocess.run(
        [Path(sys.executable).parent / program, *args],
        cwd=work.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        # Any server that were contacted would refuse.
        env={"PATH": "/usr/bin:/bin", "HF_ENDPOINT": "http://127.0.0.1:9", "HOME": str(work.keys)},
    )


def test_the_very_first_commit_is_judged_too(work: Work) -> None:
    ran = hook(work)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "against nothing" in ran.stdout
    assert "example-draft 0.1.0  recipe added" in ran.stdout
    work.edit("release/example-draft/0.1.0/README.md", "# An example draft", "# The best draft")
    ran = hook(work)
    assert ran.returncode == 1
    assert "K001" in ran.stdout


def test_a_commit_that_breaks_a_card_is_stopped_and_its_message_says_how_to_mend_it(work: Work) -> None:
    work.commit()
    assert hook(work).returncode == 0
    work.edit(RECIPE, "title: An example draft", "title: Another")
    ran = hook(work)
    assert ran.returncode == 1
    assert "run: zoo card example-draft" in ran.stdout
    work.card("example-draft")
    assert hook(work).returncode == 0


def test_a_draft_on_a_hub_is_left_to_the_gate_and_nobody_is_asked(work: Work) -> None:
    work.commit()
    work.edit(RECIPE, "./drafts/example-draft", "hf://acme/draft@" + "0" * 40)
    work.card("example-draft")
    ran = hook(work)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "was not asked for: --offline" in ran.stdout
