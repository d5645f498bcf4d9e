"""The parts of a release to a hub that need no hub: trees, journals, messages."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.release.conftest import Place
from tests.release.hub_place import HubPlace
from zoo.digests import FileDigest, sha256_hex
from zoo.errors import ReleaseRefusedError, TargetUnusableError
from zoo.release.journal import Journal
from zoo.release.targets.hub_refusals import refusal
from zoo.release.targets.hub_tree import Stored, blob_id, first_difference, strays
from zoo.workspace import find_zoo

CONTENT = {"README.md": b"---\nlicense: mit\n---\n", "config.json": b"{}", "w.safetensors": b"weights"}
FILES = {path: FileDigest(path, len(data), sha256_hex(data)) for path, data in CONTENT.items()}
OIDS = {path: blob_id(data) for path, data in CONTENT.items()}


def tree() -> dict[str, Stored]:
    """A commit with exactly FILES, the weights in LFS."""
    stored = {path: Stored(path, len(data), "", blob_id(data)) for path, data in CONTENT.items()}
    weights = FILES["w.safetensors"]
    stored["w.safetensors"] = Stored("w.safetensors", weights.size, weights.sha256, "0" * 40)
    stored[".gitattributes"] = Stored(".gitattributes", 5, "", "0" * 40)
    return stored


def test_a_blob_id_is_the_one_that_git_gives(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"some\0content\n")
    ran = subprocess.run(
        ["git", "hash-object", "file"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert blob_id(b"some\0content\n") == ran.stdout.strip()


def test_a_commit_with_exactly_the_files_differs_in_nothing() -> None:
    assert first_difference(FILES, tree(), OIDS) is None


@pytest.mark.parametrize(
    ("path", "change", "said"),
    [
        ("config.json", None, '"config.json" is missing'),
        ("config.json", Stored("config.json", 3, "", "0" * 40), "has 3 bytes, and its manifest says 2"),
        ("config.json", Stored("config.json", 2, "", "0" * 40), "is not what its manifest says"),
        ("w.safetensors", Stored("w.safetensors", 7, "f" * 64, "0" * 40), "has sha256 ffffffffffff…"),
        ("README.md", Stored("README.md", 21, "f" * 64, "0" * 40), "is kept as a large file"),
        ("other.bin", Stored("other.bin", 1, "", "0" * 40), '"other.bin" is not in its manifest'),
    ],
)
def test_every_difference_between_a_commit_and_a_manifest_is_named(
    path: str, change: Stored | None, said: str
) -> None:
    stored = tree()
    if change is None:
        del stored[path]
    else:
        stored[path] = change
    assert said in (first_difference(FILES, stored, OIDS) or "")


def test_a_small_file_that_nobody_read_does_not_pass() -> None:
    assert "is not what its manifest says" in (first_difference(FILES, tree(), {}) or "")


def test_strays_are_what_neither_the_release_nor_the_hub_put_there() -> None:
    there = {**tree(), "optimizer.pt": tree()["config.json"], "model.sig": tree()["config.json"]}
    assert strays(FILES, there) == ["optimizer.pt"]


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (401, "does not accept the token", "hf auth login"),
        (402, "the quota of the account is used up", "settings"),
        (403, "the token may not do this", "--pr"),
        (404, "has none, or hides it from this token", "repo:"),
        (409, "in the way of something that is there", "run the same command again"),
        (412, "moved while this release ran", "nothing was overwritten"),
        (413, "too large", "raise it"),
        (507, "has no space left", "make space there"),
        (418, "refuses it (418)", "look at"),
    ],
)
def test_every_refusal_has_words_and_a_next_action_of_its_own(status: int, said: str, hint: str) -> None:
    error = refusal("the commit", status, "because\x1b[2J", "https://hub.example.com", "acme/tiny")
    assert said in error.message
    assert f"({status})" in error.message
    assert "because\\x1b[2J" in error.message
    assert hint in error.hint


def lines(place: Place) -> list[dict]:
    file = place.root / ".zoo" / "journal" / "tiny-1.0.0.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_journal_holds_the_beginning_and_the_end_of_every_step(place: Place) -> None:
    assert place.push().status == 0
    found = [(line["step"], line["state"]) for line in lines(place)]
    steps = "preflight stage verify gates render seal sign upload commit".split()
    steps += ["read back", "tag", "record"]
    ends = {"sign": "skipped"}
    middle = [(step, state) for step in steps for state in ("begun", ends.get(step, "done"))]
    assert found == [("run", "begun"), *middle, ("run", "finished")]
    manifest = (place.published / "tiny/1.0.0/manifest.json").read_bytes()
    assert lines(place)[-2]["manifest_sha256"] == hashlib.sha256(manifest).hexdigest()


def test_git_sees_no_journal(place: Place) -> None:
    assert place.push().status == 0
    subprocess.run(["git", "init", "-q"], cwd=place.root, check=True)
    ran = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=place.root, capture_output=True, text=True, check=True
    )
    assert ".zoo" not in ran.stdout
    assert "release/tiny/log.jsonl" in ran.stdout


def test_the_next_run_says_where_the_last_one_stopped(place: Place) -> None:
    place.edit_recipe("gates: {}", "gates:\n  smoke: {tier: 8gpu}")
    assert place.push().status == 2
    assert lines(place)[-1]["state"] == "failed"
    ran = place.push("--unchecked", "smoke=no GPU here")
    assert ran.status == 0, ran.err
    assert 'this continues a release that stopped at "gates"' in ran.err
    assert "this continues" not in place.push("--unchecked", "smoke=no GPU here").err


def test_a_run_to_another_place_continues_nothing(place: Place, tmp_path: Path) -> None:
    place.edit_recipe("gates: {}", "gates:\n  smoke: {tier: 8gpu}")
    assert place.push().status == 2
    ran = place.push("--to", f"dir:{tmp_path}/elsewhere", "--unchecked", "smoke=no GPU here")
    assert ran.status == 0, ran.err
    assert "this goes to dir:" in ran.err
    assert 'elsewhere; an earlier release stopped at "gates"' in ran.err


@pytest.mark.parametrize("rest", ['{"time": "2026', "null\n", '{"step": []}\n', "\x00\xff\n"])
def test_a_torn_line_of_a_journal_is_passed_over(place: Place, rest: str) -> None:
    zoo = find_zoo(place.root)
    Journal(zoo, "tiny", "1.0.0", "dir:published").write("upload", "begun")
    with (place.root / ".zoo/journal/tiny-1.0.0.jsonl").open("a", encoding="latin-1") as file:
        file.write(rest)
    found = Journal(zoo, "tiny", "1.0.0", "dir:published").unfinished
    assert found is not None
    assert (found.step, found.state) == ("upload", "begun")


def test_a_journal_is_never_written_through_a_link(place: Place, tmp_path: Path) -> None:
    (place.root / ".zoo").symlink_to(tmp_path)
    with pytest.raises(ReleaseRefusedError, match="is a link"):
        Journal(find_zoo(place.root), "tiny", "1.0.0", "dir:published")
    assert place.push().status == 1
    assert not place.published.exists()


def test_a_journal_that_cannot_be_written_stops_before_anything_else(place: Place) -> None:
    (place.root / ".zoo").write_text("a file")
    with pytest.raises(TargetUnusableError, match="keeps its journal there"):
        Journal(find_zoo(place.root), "tiny", "1.0.0", "dir:published")
    assert place.push().status == 2
    assert not place.published.exists()


def test_trusted_publishing_that_fails_says_so_and_falls_back_to_nothing(
    on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_OIDC_RESOURCE", on_hub.repo)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    on_hub.refused(on_hub.push(), "trusted publishing gave no token", "HF_OIDC_RESOURCE")
