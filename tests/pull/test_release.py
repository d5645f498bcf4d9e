"""Pulling and verifying a release: from its directory, or from the hub that the log names."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.corpus.kit import WEIGHTS
from tests.release.conftest import Place
from tests.remote.hub import COMMIT, REPO, Hub, Server, serve
from zoo.schemas import validator

Verb = Callable[..., Ran]


@pytest.fixture
def released(place: Place) -> Place:
    """A zoo that has released tiny 1.0.0 to a directory."""
    assert place.push().status == 0
    return place


def folder_of(place: Place) -> Path:
    return place.published / "tiny" / "1.0.0"


def zoo(place: Place, *args: str | Path) -> Ran:
    return place.run("--zoo", place.root, *args)


def alter(path: Path, change: Callable[[bytes], bytes] = lambda raw: raw[:-1] + bytes([raw[-1] ^ 1])) -> None:
    path.chmod(0o644)
    path.write_bytes(change(path.read_bytes()))


def test_a_release_comes_with_all_files_of_its_manifest(released: Place, tmp_path: Path) -> None:
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got")
    assert ran.status == 0, ran.err
    manifest = json.loads((tmp_path / "got" / "manifest.json").read_text())
    listed = {each["path"]: each["sha256"] for each in manifest["files"]}
    got = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "got").iterdir()}
    assert got == listed | {"manifest.json": got["manifest.json"]}
    assert ran.out.count("as the manifest states") == len(listed)
    assert f"--speculative-draft-model-path {tmp_path / 'got'}" in ran.out


def test_the_folder_is_named_after_the_release(
    released: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert zoo(released, "pull", "tiny@1.0.0").status == 0
    assert (tmp_path / "tiny-1.0.0" / WEIGHTS).is_file()


@pytest.mark.parametrize("name", [WEIGHTS, "report.pdf", "README.md"])
def test_other_bytes_are_never_taken_for_the_release(released: Place, tmp_path: Path, name: str) -> None:
    alter(folder_of(released) / name)
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got")
    assert (ran.status, ran.out) == (2, "")
    assert "and the manifest states" in ran.err
    assert not (tmp_path / "got").exists()


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda file: file.unlink(), "is missing, or no file"),
        (lambda file: alter(file, lambda raw: raw + b"x"), "and its manifest says"),
        (lambda file: (file.unlink(), file.symlink_to("/etc/passwd")), "is missing, or no file"),
    ],
)
def test_a_release_that_is_not_whole_is_refused_at_once(
    released: Place, tmp_path: Path, break_it: Callable[[Path], object], says: str
) -> None:
    break_it(folder_of(released) / "report.pdf")
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got")
    assert ran.status == 2
    assert says in ran.err
    assert sorted(tmp_path.glob(".got*")) == []


def test_a_release_that_is_nowhere_says_so(released: Place, tmp_path: Path) -> None:
    shutil.rmtree(released.published)
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got")
    assert ran.status == 2
    assert "dir:published does not hold it any more" in ran.err


def test_an_unknown_release_names_the_known_ones(released: Place) -> None:
    for verb in ("pull", "verify"):
        ran = zoo(released, verb, "tiny@2.0.0")
        assert (ran.status, ran.out) == (2, "")
        assert "released are: tiny@1.0.0" in ran.err
    assert "nothing of this name was released" in zoo(released, "verify", "..@1.0.0").err


def test_a_folder_or_a_name_is_nothing_to_pull(released: Place) -> None:
    assert "is a folder already" in zoo(released, "pull", str(released.checkpoint)).err
    assert "neither a release nor a remote source" in zoo(released, "pull", "tiny").err


@pytest.fixture
def on_hub(released: Place) -> Iterator[Server]:
    """The release on a hub instead of in its directory, and a log that says so."""
    folder = released.root / "repo"
    shutil.copytree(folder_of(released), folder)
    shutil.rmtree(released.published)
    log = released.root / "release" / "tiny" / "log.jsonl"
    event = json.loads(log.read_text())
    with serve(Hub(folder)) as server:
        log.write_text(json.dumps(event | {"target": server.url, "ref": COMMIT}) + "\n")
        record = released.root / "release" / "tiny" / "1.0.0" / "manifest.json"
        text = record.read_text().replace('"repo": "zoo-tests/tiny"', f'"repo": "{REPO}"')
        record.write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        log.write_text(
            json.dumps(event | {"target": server.url, "ref": COMMIT, "manifest_sha256": digest}) + "\n"
        )
        yield server


@pytest.mark.usefixtures("online")
def test_a_release_on_a_hub_is_read_at_its_commit(released: Place, on_hub: Server, tmp_path: Path) -> None:
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got", "--endpoint", on_hub.url)
    assert ran.status == 0, ran.err
    assert f"tiny@1.0.0 (commit {COMMIT}) is in" in ran.out
    assert {seen.path.split("/")[4] for seen in on_hub.seen if "/resolve/" in seen.path} == {COMMIT}
    ran = zoo(released, "verify", "tiny@1.0.0", "--deep", "--endpoint", on_hub.url)
    assert ran.status == 0, ran.out + ran.err


@pytest.mark.usefixtures("online")
def test_a_hub_that_a_log_names_is_asked_only_if_the_user_says_so(
    released: Place, on_hub: Server, tmp_path: Path
) -> None:
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got")
    assert ran.status == 2
    assert f"--endpoint {on_hub.url}" in ran.err
    assert on_hub.seen == []


@pytest.mark.usefixtures("online")
def test_a_hub_that_states_another_sha256_is_refused_before_the_download(
    released: Place, on_hub: Server, tmp_path: Path
) -> None:
    alter(released.root / "repo" / WEIGHTS)
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got", "--endpoint", on_hub.url)
    assert ran.status == 2
    assert "has the sha256" in ran.err
    assert on_hub.asked_for("report.pdf") == []


def test_a_release_is_verified_where_it_was_published(released: Place) -> None:
    for level in ([], ["--deep"]):
        ran = zoo(released, "verify", "tiny@1.0.0", *level)
        assert ran.status == 0, ran.out + ran.err
        assert "published/tiny/1.0.0: 25 tensors" in ran.out


def test_a_release_of_another_recipe_than_today_s_is_verified_on_its_own(released: Place) -> None:
    released.edit_recipe("block_size: 4", "block_size: 8")
    ran = zoo(released, "verify", "tiny@1.0.0", "--deep", "--no-cache")
    assert ran.status == 0, ran.out + ran.err
    assert "no recipe was given" in ran.out


@pytest.mark.parametrize("name", [WEIGHTS, "report.pdf", "notes.md"])
def test_a_release_with_an_altered_byte_fails_its_verification(released: Place, name: str) -> None:
    alter(folder_of(released) / name)
    ran = zoo(released, "verify", "tiny@1.0.0", "--deep")
    assert (ran.status, ran.out) == (1, "")
    assert f'"{name}"' in ran.err
    assert "its manifest says" in ran.err


def test_a_release_that_is_not_its_manifest_is_a_report(released: Place) -> None:
    alter(folder_of(released) / WEIGHTS)
    ran = zoo(released, "verify", "tiny@1.0.0", "--deep", "--format", "json")
    assert ran.status == 1
    document = json.loads(ran.out)
    validator("zoo-report-1").validate(document)
    assert (document["exit"], document["summary"]["errors"], document["level"]) == (1, 1, "deep")
    assert document["subject"] == {"release": "tiny@1.0.0"}
    assert "its manifest says" in document["refused"]["message"]
    assert document["refused"]["message"] in ran.err


def test_a_release_with_a_file_more_or_less_fails_at_header_level(released: Place) -> None:
    folder = folder_of(released)
    (folder / "modeling.py").write_text("import os")
    ran = zoo(released, "verify", "tiny@1.0.0")
    assert ran.status == 1
    assert "is not in its manifest" in ran.err
    (folder / "modeling.py").unlink()
    (folder / "notes.md").unlink()
    assert zoo(released, "verify", "tiny@1.0.0").status == 1


def test_a_manifest_with_code_is_not_downloaded(released: Place, tmp_path: Path) -> None:
    record = released.root / "release" / "tiny" / "1.0.0" / "manifest.json"
    log = released.root / "release" / "tiny" / "log.jsonl"
    for path in (record, folder_of(released) / "manifest.json"):
        alter(path, lambda raw: raw.replace(b"report.pdf", b"report.py"))
    event = json.loads(log.read_text())
    event["manifest_sha256"] = hashlib.sha256(record.read_bytes()).hexdigest()
    log.write_text(json.dumps(event) + "\n")
    (folder_of(released) / "report.pdf").rename(folder_of(released) / "report.py")
    ran = zoo(released, "pull", "tiny@1.0.0", "--out", tmp_path / "got")
    assert ran.status == 2
    assert "can run code" in ran.err
