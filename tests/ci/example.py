"""A small example zoo in a git repository, and the words in which a pull request to it is written.

Four drafts: ``tiny`` is released as 1.0.0; ``second`` extends it, and has evidence and a measured claim;
``third`` is on the Hub, which no test reaches; ``fourth`` has a target and a profile of its own. The branch
``main`` has no signers, ``signed`` has one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zoo.cli
from tests.release.tiny_zoo import PROFILE, RECIPE, TARGET, make_checkpoint, make_zoo
from tests.trust.making import public_pem, write_key
from zoo.ci.files import known_digest, known_digests
from zoo.digests import basis_digest
from zoo.evidence import Engine, Evidence, Result, basis_of, write_evidence
from zoo.recipe.load import usable_recipe
from zoo.replay import settings as replay_settings
from zoo.results import Outcome
from zoo.sources import Sources
from zoo.workspace import find_zoo

TINY = RECIPE.replace("manifest: unknown", "manifest: tiny.training.json") + "caveats: [E008, E009, E017]\n"
SECOND = """\
extends: tiny
name: second
version: 0.1.0
repo: zoo-tests/second
title: A second tiny draft
checkpoint: {source: ./drafts/second}
claims:
  - {metric: accept_length, value: 2.5, at: {temperature: 0}, source: measured, evidence: replay-held-out}
"""
SIGNERS = 'trust = {{signers = [{{name = "{0}", key = "keys/{0}.pub"}}]}}\n'
COUNTS = {
    "accept_histogram": [20, 30, 30, 20],
    "verify_steps": 100,
    "correct_drafts": 150,
    "accept_length": 2.5,
}
_GIT = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


@dataclass(frozen=True)
class Work:
    """A clone with a pull request in the making; ``keys`` holds private keys, outside of it."""

    root: Path
    keys: Path

    def git(self, *args: str) -> str:
        ran = subprocess.run(
            ["git", *args],
            cwd=self.root,
            env={**os.environ, **_GIT},
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout

    def commit(self, *args: str) -> None:
        self.git("add", "-A", *args)
        self.git("commit", "-q", "--allow-empty", "-m", "change")

    def read(self, path: str) -> str:
        return (self.root / path).read_text()

    def write(self, path: str, content: str | bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)  # a released file is read-only
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, f"{old!r} is not in {path}"
        self.write(path, text.replace(old, new))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def json(self, path: str, change: Callable[[Any], object]) -> None:
        document = json.loads(self.read(path))
        change(document)
        self.write(path, json.dumps(document, indent=2))

    def log(self, name: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
        """Change the events of a release log."""
        path = f"release/{name}/log.jsonl"
        events = [json.loads(line) for line in self.read(path).splitlines()]
        change(events)
        self.write(path, "".join(json.dumps(event) + "\n" for event in events))

    def zoo(self, *args: str) -> None:
        assert zoo.cli.run(["--zoo", str(self.root), *args]) == 0, args

    def card(self, *names: str) -> None:
        for name in names:
            self.zoo("card", name)

    def weights(self, folder: str, byte: int = 1) -> None:
        """Other numbers in the weights of a draft, in the same form."""
        path = f"{folder}/model.safetensors"
        content = bytearray((self.root / path).read_bytes())
        content[-1] ^= byte
        self.write(path, bytes(content))

    def record(self, name: str, subject: str = "held-out", **changes: Any) -> str:
        """Write replay evidence for a draft as it is now; the path of it."""
        place = find_zoo(self.root)
        recipe = usable_recipe(place, name)
        checkpoint = Sources().open(recipe.checkpoint.source, zoo=place)
        digest = known_digest(recipe, known_digests(checkpoint, recipe.checkpoint.files))
        assert digest is not None
        inputs = {"sha256": "b" * 64, "about": "held-out conversations", "count": 28}
        settings = {"temperature": 0} | replay_settings.settings_of(recipe).as_json()
        evidence = Evidence(
            kind="replay",
            subject=subject,
            checkpoint_digest=digest,
            basis_digest=basis_digest(recipe, basis_of(recipe, "replay", subject, inputs), digest, settings),
            target={"repo": recipe.target.served.path, "revision": "unknown"},
            inputs=inputs,
            settings=settings,
            engine=Engine("replay", "0.1.0", ()),
            host={"gpus": []},
            tool="draft-zoo 0.1.0",
            started="2026-11-30T10:00:00Z",
            ended="2026-11-30T10:20:00Z",
            results=(Result("accept-length", Outcome.PASSED, "", {**COUNTS, **changes}),),
        )
        path = f"release/{name}/{recipe.version}/evidence/replay-{subject}.json"
        write_evidence(self.root / path, evidence)
        return path

    def sign(self, path: str, by: str = "alice") -> None:
        self.zoo("sign", str(self.root / path), "--key", str(self.keys / f"{by}.pem"))

    def ci(self, *args: str, base: str = "main") -> dict[str, Any]:
        """What ``zoo ci`` says, as JSON; its exit status is in there, and is the process's."""
        file = self.keys / "result.json"
        options = ["--base", base, "--now", "2026-12-01", "--write", f"json={file}"]
        status = zoo.cli.run(["--zoo", str(self.root), "ci", *options, *args])
        document: dict[str, Any] = json.loads(file.read_text())
        assert status == document["exit"]
        return document


def make_example(root: Path, keys: Path) -> None:
    """The repository, with its branches ``main`` and ``signed``."""
    work = Work(root, keys)
    make_zoo(root)
    make_checkpoint(root, root / "checkpoint")
    config = json.loads(work.read("checkpoint/config.json"))
    run = {"schema": "training-manifest/1", "run": "tiny", "iteration": 10, "step": 9, "config": config}
    work.write("recipes/tiny.training.json", json.dumps(run, indent=2))
    work.write("recipes/tiny.yaml", TINY)
    work.write("recipes/second.yaml", SECOND)
    make_checkpoint(root, root / "drafts" / "second")
    work.weights("drafts/second")
    third = TINY.replace("name: tiny\n", "name: third\n").replace("zoo-tests/tiny\n", "acme/third\n")
    work.write("recipes/third.yaml", third.replace("./checkpoint", "hf://acme/third@" + "0" * 40))
    fourth = third.replace("third", "fourth").replace("tiny-target", "fourth-target")
    fourth = fourth.replace("[sglang-tiny]", "[sglang-fourth]")
    fourth = fourth.replace("./checkpoint", "./drafts/fourth").replace("acme/", "zoo-tests/")
    work.write("recipes/fourth.yaml", fourth)
    shutil.copytree(root / "checkpoint", root / "drafts" / "fourth")
    work.write("recipes/targets/fourth-target.yaml", TARGET.replace("name: tiny-", "name: fourth-"))
    work.write("recipes/profiles/sglang-fourth.yaml", PROFILE.replace("sglang-tiny", "sglang-fourth"))
    work.write(".gitignore", "published/\n")
    work.write("README.md", "# An example zoo\n")
    work.record("second")
    for name in ("alice", "mallory"):
        key = write_key(keys / f"{name}.pem")
        (keys / f"{name}.pub").write_bytes(public_pem(key))
    work.zoo("release", "tiny", "--push")
    work.card("second", "third", "fourth")
    work.git("init", "-q", "-b", "main")
    work.commit()
    work.git("checkout", "-q", "-b", "signed")
    work.write("keys/alice.pub", (keys / "alice.pub").read_bytes())
    work.write("zoo.toml", work.read("zoo.toml") + SIGNERS.format("alice"))
    work.sign("release/second/0.1.0/evidence/replay-held-out.json")
    work.card("second")
    work.commit()
    work.git("checkout", "-q", "main")
