"""Pull requests to the example zoo of docs/, as actions/checkout lays them out."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.action.runner import Ran, run_step, steps
from tests.ci.example import Work
from tests.conftest import REPOSITORY

ACTION = REPOSITORY / "action.yml"
EXAMPLE = REPOSITORY / "docs" / "example-zoo"
RECIPE = "recipes/example-draft.yaml"


@dataclass(frozen=True)
class Desk:
    """The repository of a zoo on a server (``origin``, bare), where a pull request is written (``work``) and
    checked out (``workspace``), and the folder for temporary files of a runner."""

    work: Work
    origin: Path
    workspace: Path
    temp: Path

    def propose(self, *, base: str = "main", shallow: bool = False) -> None:
        """Commit what ``work`` has as a pull request, merge it with ``base`` as GitHub does, check it out."""
        self.work.commit()
        self.work.git("push", "-q", "origin", "HEAD:refs/heads/change", "HEAD:refs/pull/1/head")
        self.work.git("checkout", "-q", "--detach", f"refs/remotes/origin/{base}")
        self.work.git("-c", "merge.directoryRenames=false", "merge", "-q", "--no-ff", "-m", "merge", "change")
        self.work.git("push", "-q", "origin", "HEAD:refs/pull/1/merge")
        self.work.git("checkout", "-q", "change")
        self.check_out("refs/pull/1/merge", shallow=shallow)

    def check_out(self, ref: str, *, shallow: bool = False) -> None:
        """As ``actions/checkout`` does, with ``fetch-depth: 0`` or, ``shallow``, with 1."""
        place = Work(self.workspace, self.work.keys)
        self.workspace.mkdir(parents=True)
        place.git("init", "-q")
        place.git("remote", "add", "origin", self.origin.as_uri())
        everything = [] if shallow else ["+refs/heads/*:refs/remotes/origin/*"]
        depth = ["--depth=1"] if shallow else []
        place.git(
            "fetch", "-q", "--no-tags", *depth, "origin", *everything, f"+{ref}:refs/remotes/checked/out"
        )
        place.git("checkout", "-q", "--detach", "refs/remotes/checked/out")

    def run_in(self, workflow: str, job: str, name: str, env: Mapping[str, str], **meant: str) -> Ran:
        """Run a step of a workflow of the example in the workspace, with the command of this environment."""
        step = steps(EXAMPLE / ".github" / "workflows" / f"{workflow}.yml", job)[name]
        tool = str(self.temp / "draft-zoo" / "venv" / "bin" / "zoo")
        known = {f"steps.{each}.outputs.command": tool for each in ("gate", "zoo")} | meant
        return run_step(step, self.workspace, self.temp, expressions=known, env=env)

    def judge(
        self,
        *,
        folder: str = ".",
        base: str = "",
        base_ref: str = "main",
        queue: str = "",
        not_checked: str = "fail",
        where: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Ran:
        """The second step of the action, with its inputs and what the event says."""
        return run_step(
            steps(ACTION)["Judge the change"],
            where or self.workspace,
            self.temp,
            expressions={
                "inputs.zoo": folder,
                "inputs.base": base,
                "github.event.merge_group.base_sha": queue,
                "inputs.not-checked": not_checked,
            },
            env={"GITHUB_BASE_REF": base_ref, "GITHUB_ACTION_PATH": str(REPOSITORY), **(env or {})},
        )


@pytest.fixture(scope="session")
def _upstream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example zoo as a repository with the branches ``main`` and ``change``, and its bare origin."""
    root = tmp_path_factory.mktemp("upstream")
    shutil.copytree(EXAMPLE, root / "work")
    work = Work(root / "work", root)
    work.git("init", "-q", "-b", "main")
    work.commit()
    work.git("branch", "change")
    # Of a pull request this is no part: main went on.
    work.write("recipes/later.yaml", "recipe: 1\n")
    work.commit()
    work.git("clone", "-q", "--bare", ".", str(root / "origin.git"))
    work.git("remote", "add", "origin", str(root / "origin.git"))
    work.git("fetch", "-q", "origin")
    work.git("checkout", "-q", "change")
    # As the first step of the action leaves it; test_install.py runs that step.
    (root / "_temp" / "draft-zoo").mkdir(parents=True)
    (root / "_temp" / "draft-zoo" / "venv").symlink_to(sys.prefix)
    return root


def copied(template: Path, folder: Path) -> Desk:
    """The desk at ``template``, again in ``folder``, at places with spaces in their names."""
    root = folder / "a runner"
    shutil.copytree(template, root, symlinks=True)
    made = Desk(Work(root / "work", root), root / "origin.git", root / "work space", root / "_temp")
    for place in (made.work.root, made.workspace):
        if place.exists():
            Work(place, root).git("remote", "set-url", "origin", made.origin.as_uri())
    return made


@pytest.fixture
def desk(_upstream: Path, tmp_path: Path) -> Desk:
    """A new one of its own."""
    return copied(_upstream, tmp_path)
