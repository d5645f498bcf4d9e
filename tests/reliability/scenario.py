"""The releases of the matrix: what is there before, which commands run, and what must be there afterwards.

``Site`` makes each scenario once, on one hub; a ``Cell`` is a copy of it, zoo and repository, under a name of
its own.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.hub.server import HubProcess
from tests.release.tiny_zoo import make_checkpoint, make_zoo
from tests.reliability.kill import Launcher
from tests.reliability.look import Hub

LIMIT, SHORT = "30", "6"  # --timeout
STRAY = "old-notes.txt"
_PUSH = ("release", "tiny", "--push", "--to", "URL")


@dataclass(frozen=True)
class Scenario:
    """``commands`` run one after the other; URL stands for the hub's address, ZOO for the folder of the zoo.
    ``earlier``: version 0.9.0 was released before, and somebody else put one more file on main."""

    name: str
    title: str
    about: str
    commands: tuple[tuple[str, ...], ...]
    earlier: bool = True
    public: bool = False

    @property
    def template(self) -> str:
        """The repository that is copied for each cell."""
        return f"acme/tiny-{9000 + SCENARIOS.index(self)}"


NEXT = Scenario(
    "next",
    "The next version",
    "`zoo release tiny --push --public-when-done --gated auto` of version 1.0.0. The repository is private "
    "and holds version 0.9.0 and a file that somebody else committed since.",
    ((*_PUSH, "--public-when-done", "--gated", "auto"),),
    public=True,
)
FIRST = Scenario(
    "first",
    "The first version",
    "`zoo release tiny --push` of version 1.0.0, to a repository that is not there yet.",
    (_PUSH,),
    earlier=False,
)
PROPOSAL = Scenario(
    "proposal",
    "A pull request, and its merge",
    "`zoo release tiny --push --pr`, then `zoo merge tiny@1.0.0`. The repository is as in the first table.",
    ((*_PUSH, "--pr"), ("merge", "tiny@1.0.0", "--to", "URL")),
)
SIGNED = Scenario(
    "signed",
    "The next version, signed",
    "`zoo release tiny --push --sign-key KEY`",
    ((*_PUSH, "--sign-key", "ZOO/key.pem"),),
)
SCENARIOS = (NEXT, FIRST, PROPOSAL, SIGNED)


@dataclass(frozen=True)
class Cell:
    """One zoo that releases to one ``repo`` of ``hub``."""

    scenario: Scenario
    root: Path
    repo: str
    hub: Hub
    before: tuple[str, ...]  # commits of main, newest first


@dataclass
class Site:
    """A hub, and the scenarios as they are before their first command. ``folder`` holds everything."""

    folder: Path
    process: HubProcess
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _made: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def make(self, scenario: Scenario, launcher: Launcher) -> None:
        """Prepare ``scenario``: its zoo, which is a git repository, and what the hub holds."""
        root, hub = self._template(scenario), Hub(self.process, scenario.template)
        root.mkdir(parents=True)
        make_zoo(root)
        make_checkpoint(root, root / "checkpoint")
        _replace(root / "recipes/tiny.yaml", "repo: zoo-tests/tiny\n", f"repo: {scenario.template}\n")
        if scenario is SIGNED:
            make_key(root / "key.pem")
        if scenario.earlier:
            _release_before(root, hub, launcher)
            self._made[scenario.name] = hub.commits()
            (self.process.folder / "repos" / hub.repo).rename(self.folder / f"{scenario.name}.repo")
        git(root, "init", "--quiet")
        git(root, "add", "--all")
        git(root, "commit", "--quiet", "--message", "The zoo")

    def cell(self, scenario: Scenario, url: str, process: HubProcess | None = None) -> Cell:
        """A copy of ``scenario`` that releases to ``url``, on the hub of this site or of ``process``."""
        process = process or self.process
        name = f"tiny-{next(self._numbers):04}"
        root, repo = self.folder / "cells" / name, f"acme/{name}"
        shutil.copytree(self._template(scenario), root, symlinks=True)
        _replace(root / "recipes/tiny.yaml", scenario.template, repo)
        if scenario.earlier:
            _replace(root / "release/tiny/log.jsonl", self.process.url, url)
            there = process.folder / "repos" / repo
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(self.folder / f"{scenario.name}.repo", there)
        return Cell(scenario, root, repo, Hub(process, repo), self._made.get(scenario.name, ()))

    def _template(self, scenario: Scenario) -> Path:
        return self.folder / "templates" / scenario.name

    @contextmanager
    def hub_of_its_own(self, name: str) -> Iterator[HubProcess]:
        """Another hub with the same users, that can be killed."""
        folder = self.folder / "hubs" / name / "hub"
        folder.mkdir(parents=True)
        shutil.copytree(self.process.folder / "users", folder / "users")
        for file in ("hub.json", "secret"):
            shutil.copyfile(self.process.folder / file, folder / file)
        hub = HubProcess(folder, self.process.token, self.process.read_token, self.process.stranger_token)
        hub.start()
        try:
            yield hub
        finally:
            hub.kill()


def _release_before(root: Path, hub: Hub, launcher: Launcher) -> None:
    """Release 0.9.0 with other weights, and let somebody else commit a file."""
    weights = root / "checkpoint/model.safetensors"
    trained = weights.read_bytes()
    weights.write_bytes(trained[:-2] + bytes([trained[-2] ^ 1]) + trained[-1:])
    _replace(root / "recipes/tiny.yaml", "version: 1.0.0", "version: 0.9.0")
    ran = launcher.run("--zoo", str(root), "release", "tiny", "--push", "--to", hub.process.url)
    assert ran.status == 0, ran.err
    weights.write_bytes(trained)
    _replace(root / "recipes/tiny.yaml", "version: 0.9.0", "version: 1.0.0")
    shutil.rmtree(root / ".zoo")
    hub.commit(STRAY, b"by somebody else\n")


def make_key(path: Path) -> None:
    """A private key as ``zoo release --sign-key`` takes it."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    path.chmod(0o600)


def git(root: Path, *args: str) -> str:
    """Run git in ``root`` as somebody, whatever this machine's settings are."""
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(root), *who, *args], check=True, capture_output=True, text=True)
    return done.stdout


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file}: no {old!r}"
    file.write_text(text.replace(old, new))
