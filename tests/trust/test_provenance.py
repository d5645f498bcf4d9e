"""Provenance: what it holds, and that the same commit gives the same bytes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.release.conftest import Place
from tests.release.test_gates import add_evidence
from zoo.digests import sha256_file
from zoo.results import Outcome
from zoo.schemas import validator
from zoo.trust.git import Commit, commit_of
from zoo.workspace import find_zoo


def git(root: Path, *args: str) -> str:
    name = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    ran = subprocess.run(["git", *name, "-C", root, *args], check=True, capture_output=True, text=True)
    return ran.stdout.strip()


def commit_all(root: Path) -> str:
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "a zoo")
    return git(root, "rev-parse", "HEAD")


def provenance(place: Place) -> dict[str, Any]:
    statement = json.loads((place.published / "tiny/1.0.0/provenance.intoto.jsonl").read_bytes())
    validator("provenance-1").validate(statement)
    return statement


TRAINING = {
    "schema": "training-manifest/1",
    "run": "tiny",
    "iteration": 10,
    "step": 9,
    "inputs": [{"name": "data.jsonl", "sha256": "1" * 64}],
    "versions": {"torch": "2.11.0"},
}


def test_it_names_commit_engines_target_and_the_files_that_an_engine_reads(place: Place) -> None:
    commit = commit_all(place.root)
    assert place.push().status == 0
    statement = provenance(place)
    manifest = json.loads((place.published / "tiny/1.0.0/manifest.json").read_bytes())
    assert [each["name"] for each in statement["subject"]] == ["config.json", "model.safetensors"]
    said = statement["predicate"]
    assert said["source"] == {"commit": commit, "dirty": False}
    assert said["engines"] == {"sglang-tiny": "sglang==0.5.14"}
    for key in ("target", "checkpoint_digest", "recipe_digest", "tool", "repo", "name", "version"):
        assert said[key] == manifest[key]
    assert (said["training"], said["evidence"]) == (None, {})


def test_it_names_the_training_manifest_and_the_evidence_that_counts(place: Place) -> None:
    config = json.loads((place.checkpoint / "config.json").read_bytes())
    training = place.root / "recipes" / "tiny.training.json"
    training.write_text(json.dumps({**TRAINING, "config": config}))
    place.edit_recipe("  manifest: unknown\n", "  manifest: tiny.training.json\n")
    record = add_evidence(place, "replay", Outcome.PASSED)
    add_evidence(place, "smoke", Outcome.PASSED, digest="0" * 64)  # stale: of other bytes
    ran = place.push()
    assert ran.status == 0, ran.out + ran.err
    said = provenance(place)["predicate"]
    assert said["training"] == {
        "manifest_sha256": sha256_file(training),
        **{key: TRAINING[key] for key in ("run", "iteration", "step", "inputs", "versions")},
    }
    assert said["evidence"] == {
        "replay-held-out.json": {
            "sha256": sha256_file(record),
            "checkpoint_digest": said["checkpoint_digest"],
            "outcome": "passed",
            "signed_by": None,
        }
    }


def test_the_same_commit_gives_the_same_bytes_after_a_release_too(place: Place, tmp_path: Path) -> None:
    (place.root / ".gitignore").write_text("published/\n")
    commit_all(place.root)
    made = []
    for where in ("a", "b"):
        assert place.push("--to", f"dir:{tmp_path / where}").status == 0
        made.append((tmp_path / where / "tiny/1.0.0/provenance.intoto.jsonl").read_bytes())
        (place.root / "release/tiny").rename(tmp_path / f"release-{where}")
    assert made[0] == made[1]
    assert str(tmp_path).encode() not in made[0]


@pytest.mark.parametrize(
    "changed", ["recipes/tiny.yaml", "recipes/new.yaml", "templates/card.md.j2", "zoo.toml"]
)
def test_a_change_of_what_a_release_is_made_of_is_dirty(place: Place, changed: str) -> None:
    commit_all(place.root)
    assert commit_of(find_zoo(place.root)).dirty is False
    path = place.root / changed
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "# a comment\n")
    assert commit_of(find_zoo(place.root)).dirty is True


def test_without_git_or_a_commit_the_source_is_unknown(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert commit_of(find_zoo(place.root)) == Commit("unknown", "unknown")
    git(place.root, "init", "-q")
    assert commit_of(find_zoo(place.root)) == Commit("unknown", "unknown")
    commit_all(place.root)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(find_zoo(place.root)) == Commit("unknown", "unknown")


def test_a_repository_runs_nothing_of_its_own(place: Place, tmp_path: Path) -> None:
    commit_all(place.root)
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    script.chmod(0o755)
    git(place.root, "config", "core.fsmonitor", str(script))
    commit_of(find_zoo(place.root))
    assert not (tmp_path / "ran").exists()
