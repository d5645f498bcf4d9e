"""What a trusted author has signed is believed only as far as it agrees with itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trust.conftest import Keys, Signed, write
from zoo.digests import sha256_file
from zoo.trust.keys import signing_key
from zoo.trust.signing import sign


def resign(signed: Signed, author: Keys, name: str = "tiny@1.0.0", without: tuple[str, ...] = ()) -> None:
    """Sign the folder as it is now."""
    paths = [path for path in signed.folder.rglob("*") if path.is_file() and path.name != "model.sig"]
    files = {path.relative_to(signed.folder).as_posix(): sha256_file(path) for path in paths}
    files = {path: sha256 for path, sha256 in files.items() if path not in without}
    raw = sign(name, files, signing_key(author.private), ignored=("model.sig",))
    write(signed.folder / "model.sig", raw)


def relist(signed: Signed, name: str) -> None:
    """Let the manifest list ``name`` as it is now."""

    def change(manifest: dict[str, Any]) -> None:
        path = signed.folder / name
        entry = {"path": name, "size": path.stat().st_size, "sha256": sha256_file(path)}
        others = [file for file in manifest["files"] if file["path"] != name]
        manifest["files"] = sorted([*others, entry], key=lambda file: file["path"])

    signed.edit("manifest.json", change)


def test_signing_it_again_as_it_is_changes_nothing(signed: Signed, author: Keys) -> None:
    before = (signed.folder / "model.sig").read_bytes()
    resign(signed, author)
    assert (signed.folder / "model.sig").read_bytes() == before


def test_a_file_that_was_signed_and_is_not_in_the_manifest(signed: Signed, author: Keys) -> None:
    (signed.folder / "extra.md").write_text("x")
    resign(signed, author)
    assert signed.codes() == {"P003": ['"manifest.json": it does not say of "extra.md" what was signed']}


def test_a_manifest_of_another_version(signed: Signed, author: Keys) -> None:
    resign(signed, author, "tiny@2.0.0")
    [message] = signed.codes()["P003"]
    assert message == '"manifest.json": it is of tiny@1.0.0, and "tiny@2.0.0" was signed'


def test_a_folder_that_was_signed_without_a_manifest(signed: Signed, author: Keys) -> None:
    (signed.folder / "manifest.json").unlink()
    resign(signed, author)
    assert signed.codes() == {"P003": ['"manifest.json": it was not signed']}


@pytest.mark.parametrize("content", [b"{}", b"[]", b"{", b"null", b"\xff"])
def test_a_signed_manifest_that_is_none(signed: Signed, author: Keys, content: bytes) -> None:
    write(signed.folder / "manifest.json", content)
    resign(signed, author)
    assert signed.codes().keys() == {"P003"}


def test_a_manifest_without_provenance(signed: Signed, author: Keys) -> None:
    (signed.folder / "provenance.intoto.jsonl").unlink()

    def change(manifest: dict[str, Any]) -> None:
        manifest["files"] = [file for file in manifest["files"] if "provenance" not in file["path"]]

    signed.edit("manifest.json", change)
    resign(signed, author)
    assert signed.codes().keys() == {"P004"}


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "name": (lambda said: said["predicate"].update(name="other"), "its name is not that of the manifest"),
    "version": (lambda said: said["predicate"].update(version="2.0.0"), "its version is not that"),
    "repo": (lambda said: said["predicate"].update(repo="a/b"), "its repo is not that"),
    "tool": (lambda said: said["predicate"].update(tool="other"), "its tool is not that"),
    "target": (lambda said: said["predicate"]["target"].update(revision=None), "its target is not that"),
    "recipe": (
        lambda said: said["predicate"].update(recipe_digest="0" * 64),
        "its recipe_digest is not that",
    ),
    "checkpoint": (
        lambda said: said["predicate"].update(checkpoint_digest="0" * 64),
        "its checkpoint_digest is not that",
    ),
    "subject": (
        lambda said: said["subject"][0]["digest"].update(sha256="0" * 64),
        'its subject "config.json" is not a file of the manifest',
    ),
    "missing": (lambda said: said["subject"].pop(), "do not have the checkpoint digest of the manifest"),
    "twice": (lambda said: said["subject"].append(said["subject"][0]), 'its subject "twice"'),
    "predicate": (
        lambda said: said.update(predicateType="https://slsa.dev/provenance/v1"),
        "$.predicateType",
    ),
    "more": (lambda said: said["predicate"].update(x=1), "$.predicate is not what the schema says"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_provenance_that_contradicts_the_manifest(signed: Signed, author: Keys, name: str) -> None:
    change, said = CHANGES[name]
    signed.edit("provenance.intoto.jsonl", change)
    relist(signed, "provenance.intoto.jsonl")
    resign(signed, author)
    found = signed.codes()
    assert found.keys() == {"P004"}
    assert any(said in message for message in found["P004"]), found


def record_for(signed: Signed, digest: str | None = None) -> Path:
    """A file of evidence in the release, about its checkpoint or another one."""
    manifest = json.loads((signed.folder / "manifest.json").read_bytes())
    path = signed.folder / "evidence" / "replay-held-out.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"checkpoint_digest": digest or manifest["checkpoint_digest"]}))
    return path


def rest_on(signed: Signed, author: Keys, path: Path, **stated: str) -> None:
    """Let the provenance name a record, and sign all of it."""
    manifest = json.loads((signed.folder / "manifest.json").read_bytes())
    entry = {
        "sha256": sha256_file(path),
        "checkpoint_digest": manifest["checkpoint_digest"],
        "outcome": "passed",
        "signed_by": None,
        **stated,
    }
    signed.edit(
        "provenance.intoto.jsonl", lambda said: said["predicate"]["evidence"].update({path.name: entry})
    )
    relist(signed, "provenance.intoto.jsonl")
    relist(signed, f"evidence/{path.name}")
    resign(signed, author)


def test_evidence_that_is_about_the_checkpoint_passes(signed: Signed, author: Keys) -> None:
    rest_on(signed, author, record_for(signed))
    assert signed.codes() == {}


def test_evidence_of_another_checkpoint(signed: Signed, author: Keys) -> None:
    rest_on(signed, author, record_for(signed), checkpoint_digest="0" * 64)
    assert signed.codes() == {"P005": ['"replay-held-out.json": it was made for another checkpoint']}


def test_evidence_that_is_not_the_record_that_the_release_rests_on(signed: Signed, author: Keys) -> None:
    rest_on(signed, author, record_for(signed), sha256="0" * 64)
    [message] = signed.codes()["P005"]
    assert message == '"replay-held-out.json": it is not the record that the release rests on'


def test_shipped_evidence_that_nobody_names_must_be_about_the_checkpoint_too(
    signed: Signed, author: Keys
) -> None:
    record_for(signed, "0" * 64)
    relist(signed, "evidence/replay-held-out.json")
    resign(signed, author)
    [message] = signed.codes()["P005"]
    assert message == '"replay-held-out.json": it is not about the files of this release'
