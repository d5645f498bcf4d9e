"""A tiny zoo with one DFlash draft, "tiny", and a checkpoint that passes every check: all bytes are made
here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.release.hub_place import hub, on_hub, proxied  # noqa: F401 (fixtures)
from tests.release.tiny_zoo import make_checkpoint, make_zoo

Tree = dict[str, tuple[bytes, int]]


@dataclass(frozen=True)
class Place:
    """A zoo, its checkpoint folder and a directory to publish to; ``release`` runs the command line there."""

    root: Path
    run: Callable[..., Ran]

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def published(self) -> Path:
        return self.root / "published"

    def release(self, *args: str) -> Ran:
        return self.run("--zoo", self.root, "release", "tiny", *args)

    def push(self, *args: str) -> Ran:
        return self.release("--push", *args)

    def standin(self) -> Path:
        folder = self.root / "standin"
        assert self.run("--zoo", self.root, "standin", "tiny", "--out", folder).status == 0
        return folder

    def edit_recipe(self, old: str, new: str) -> None:
        recipe = self.root / "recipes" / "tiny.yaml"
        text = recipe.read_text()
        assert old in text
        recipe.write_text(text.replace(old, new))


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template")
    make_zoo(folder)
    make_checkpoint(folder, folder / "checkpoint")
    return folder


@pytest.fixture
def place(_template: Path, tmp_path: Path, run_zoo: Callable[..., Ran]) -> Place:
    """A fresh zoo; the recipe's source is ``./checkpoint``, and it publishes to ``published/``."""
    root = tmp_path / "zoo"
    shutil.copytree(_template, root)
    return Place(root, run_zoo)


@pytest.fixture
def tree() -> Callable[[Path], Tree]:
    """Everything below a folder: path -> content and mtime."""

    def read(folder: Path) -> Tree:
        return {
            path.relative_to(folder).as_posix(): (
                path.read_bytes() if path.is_file() else b"",
                path.stat().st_mtime_ns,
            )
            for path in [folder, *sorted(folder.rglob("*"))]
        }

    return read


@pytest.fixture
def tmpfs(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mount a real file system with options, e.g. ``size=100k`` or ``ro``, on a new folder, of its own
    or given. Skips where that is not allowed."""
    mounted: list[Path] = []

    def mount(options: str, folder: Path | None = None) -> Path:
        folder = folder or tmp_path / f"mount-{len(mounted)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("mounting a tmpfs is not allowed here")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        if folder.is_mount():
            subprocess.run(["umount", str(folder)], check=True)
