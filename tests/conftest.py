"""Fixtures that many tests share: a zoo to work in, and the command line run in-process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import zoo.cli
from zoo.workspace import Zoo, find_zoo

# No test reads from the Hub: recipes name repositories of it. tests/remote brings its own.
os.environ["HF_HUB_OFFLINE"] = "1"
# Nor does one find what an earlier run has cached.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="draft-zoo-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_CACHE_HOME"], ignore_errors=True)
REPOSITORY = Path(__file__).parent.parent


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than cores: some tests wait, for a server, a time limit or a disk."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The part with torch, which has few tests, imports no file without any of them."""
    if not str(config.option.markexpr).startswith("torch and") or collection_path.suffix != ".py":
        return None
    return None if _names_torch(collection_path) else True


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.get_closest_marker("torch") and not _names_torch(item.path):
        raise pytest.UsageError(f"{item.path}: pytest.mark.torch must stand in the file itself")


@cache
def _names_torch(path: Path) -> bool:
    return "mark.torch" in path.read_text(encoding="utf-8")


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
