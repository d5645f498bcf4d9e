"""Keys that are made here, and a release that one of them has signed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.release.conftest import Place, _template, place
from tests.trust.making import public_pem, write_key

__all__ = ["_template", "place"]


@dataclass(frozen=True)
class Keys:
    """A private key and its public half, by the paths of their files."""

    private: Path
    public: Path


@pytest.fixture(scope="session")
def author(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return _keys(tmp_path_factory.mktemp("author"), "author")


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Somebody whom nobody here trusts."""
    return _keys(tmp_path_factory.mktemp("stranger"), "stranger")


def _keys(folder: Path, name: str) -> Keys:
    key = write_key(folder / f"{name}.pem")
    (folder / f"{name}.pub").write_bytes(public_pem(key))
    return Keys(folder / f"{name}.pem", folder / f"{name}.pub")


@dataclass(frozen=True)
class Signed:
    """A signed release in a folder that is no zoo, as a stranger has it; ``verify`` runs there."""

    folder: Path
    run: Callable[..., Ran]
    author: Keys

    def verify(self, *args: str | Path, key: Path | None = None) -> Ran:
        trusted = ["--key", key or self.author.public]
        return self.run("verify", self.folder, "--signature", *trusted, *args)

    def codes(self, *args: str) -> dict[str, list[str]]:
        """The error codes that ``verify --deep`` reports, each with its messages."""
        ran = self.verify("--deep", "--format", "json", *args)
        report = json.loads(ran.out)
        assert ran.status == report["exit"]
        found: dict[str, list[str]] = {}
        for result in report["results"]:
            for finding in result["findings"]:
                if finding["severity"] == "error":
                    found.setdefault(finding["code"], []).append(finding["message"])
        return found

    def edit(self, name: str, change: Callable[[Any], object]) -> None:
        """Change a JSON document of the release."""
        path = self.folder / name
        document = json.loads(path.read_bytes())
        change(document)
        write(path, json.dumps(document).encode())


def write(path: Path, content: bytes) -> None:
    """A released file is read-only; who tampers with it is not stopped by that."""
    path.chmod(0o644)
    path.write_bytes(content)


@pytest.fixture(scope="session")
def _signed(_template: Path, tmp_path_factory: pytest.TempPathFactory, author: Keys) -> Path:
    import zoo.cli

    root = tmp_path_factory.mktemp("signing") / "zoo"
    shutil.copytree(_template, root)
    argv = ["--zoo", root, "release", "tiny", "--push", "--sign-key", author.private]
    assert zoo.cli.run([str(each) for each in argv]) == 0
    return root / "published/tiny/1.0.0"


@pytest.fixture
def signed(
    _signed: Path, tmp_path: Path, run_zoo: Callable[..., Ran], author: Keys, monkeypatch: pytest.MonkeyPatch
) -> Signed:
    folder = tmp_path / "stranger" / "tiny"
    shutil.copytree(_signed, folder)
    monkeypatch.chdir(folder.parent)
    return Signed(folder, run_zoo, author)


def release_signed(place: Place, author: Keys, *args: str) -> Ran:
    return place.push("--sign-key", str(author.private), *args)
