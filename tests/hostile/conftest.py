"""The example zoo of tests/ci, made once for all of these tests."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable

import pytest

from tests.ci.conftest import clone, example
from tests.ci.example import Work

__all__ = ["clone", "example"]


@pytest.fixture(scope="module")
def clones(example: Work, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Work]:
    """Makes copies of the example, each with a new branch ``change`` at ``main``, or another base."""
    folder, numbers = tmp_path_factory.mktemp("clones"), itertools.count()

    def make(base: str = "main") -> Work:
        root = folder / str(next(numbers)) / "zoo"
        shutil.copytree(example.root, root, symlinks=True)
        work = Work(root, example.keys)
        work.git("checkout", "-q", "-b", "change", base)
        return work

    return make
