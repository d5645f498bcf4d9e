"""The example zoo, made once; each test works on a copy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ci.example import Work, make_example


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Work:
    """The repository itself; nobody changes it."""
    work = Work(tmp_path_factory.mktemp("example"), tmp_path_factory.mktemp("keys"))
    make_example(work.root, work.keys)
    return work


@pytest.fixture
def clone(example: Work, tmp_path: Path) -> Callable[[str], Work]:
    """A copy with a new branch ``change`` at one of its branches."""

    def make(base: str = "main") -> Work:
        root = tmp_path / "zoo"
        shutil.copytree(example.root, root, symlinks=True)
        work = Work(root, example.keys)
        work.git("checkout", "-q", "-b", "change", base)
        return work

    return make
