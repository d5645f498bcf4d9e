"""Fixtures that many tests share: a zoo to work in, and the command line run in-process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import zoo.cli
from zoo.workspace import Zoo, find_zoo

# No test reads from the Hub: recipes name repositories of it. tests/remote brings its own.
os.environ["HF_HUB_OFFLINE"] = "1"
# Nor does one find what an earlier run has cached.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="draft-zoo-tests-")
REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Ran:
    """What a command line gave: exit status, stdout and stderr."""

    status: int
    out: str
    err: str


@pytest.fixture
def run_zoo(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run ``zoo ARGS`` in this process, as ``zoo.cli.main`` would."""

    def run(*args: str | Path) -> Ran:
        capsys.readouterr()
        status = zoo.cli.run([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


@pytest.fixture
def here() -> Zoo:
    """The zoo of this repository. Tests only read it."""
    return find_zoo(REPOSITORY)


@pytest.fixture
def new_zoo(tmp_path: Path, run_zoo: Callable[..., Ran]) -> Zoo:
    """A new zoo as ``zoo init`` makes it, with the recipe ``example-draft``."""
    assert run_zoo("init", tmp_path / "zoo").status == 0
    return find_zoo(tmp_path / "zoo")
