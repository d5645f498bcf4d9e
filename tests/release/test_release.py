"""``zoo release`` from outside: what a person sees and what is on disk afterwards."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.release.conftest import Place, Tree
from zoo.schemas import schema

STEPS = "preflight stage verify gates render seal sign upload commit read tag record".split()


def read_manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_bytes())


def test_a_first_release_publishes_exactly_the_declared_files_and_what_the_tool_writes(place: Place) -> None:
    (place.checkpoint / "train.log").write_bytes(b"not declared")
    ran = place.push()
    assert ran.status == 0, ran.err
    folder = place.published / "tiny" / "1.0.0"
    checkpoint, written = ["config.json", "model.safetensors", "report.pdf"], ["README.md", "notes.md"]
    written += ["manifest.json", "provenance.intoto.jsonl"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(checkpoint + written)
    assert '"train.log" stay behind' in ran.out
    manifest = read_manifest(folder)
    Draft202012Validator(schema("release-manifest-1")).validate(manifest)
    assert {file["path"]: file["sha256"] for file in manifest["files"]} == {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "manifest.json"
    }
    assert all(path.stat().st_mode & 0o777 == 0o444 for path in folder.iterdir())
    index = json.loads((place.published / "index.json").read_bytes())
    digest = sha256((folder / "manifest.json").read_bytes()).hexdigest()
    assert index["releases"]["tiny"]["1.0.0"]["manifest_sha256"] == digest


def test_a_release_is_recorded_in_the_zoo_with_the_published_bytes(place: Place) -> None:
    assert place.push().status == 0
    recorded, folder = place.root / "release" / "tiny" / "1.0.0", place.published / "tiny" / "1.0.0"
    for name in ("README.md", "notes.md", "manifest.json"):
        assert (recorded / name).read_bytes() == (folder / name).read_bytes()
    [line] = (place.root / "release" / "tiny" / "log.jsonl").read_text().splitlines()
    event = json.loads(line)
    assert event["event"] == "published"
    assert event["target"] == "dir:published"
    assert event["manifest_sha256"] == sha256((folder / "manifest.json").read_bytes()).hexdigest()


def test_every_step_says_in_one_line_what_it_proved(place: Place) -> None:
    lines = [line for line in place.push().out.splitlines() if line and not line.startswith(" ")]
    assert [line.split()[0] for line in lines[:-1]] == STEPS
    assert lines[-1] == f"tiny 1.0.0 is at {place.published}/tiny/1.0.0"


def test_the_same_zoo_gives_the_same_manifest_anywhere(place: Place, tmp_path: Path) -> None:
    for where in ("a", "b"):
        (place.root / "release").exists() and (place.root / "release").rename(tmp_path / "release")
        assert place.push("--to", f"dir:{tmp_path / where}").status == 0
    one, other = (tmp_path / where / "tiny/1.0.0/manifest.json" for where in ("a", "b"))
    assert one.read_bytes() == other.read_bytes()
    assert str(tmp_path) not in one.read_text()


def test_releasing_the_same_bytes_again_changes_nothing(place: Place, tree: Callable[[Path], Tree]) -> None:
    assert place.push().status == 0
    before = tree(place.published), tree(place.root / "release")
    again = place.push()
    assert again.status == 0
    assert "skipped: published already" in again.out
    assert (tree(place.published), tree(place.root / "release")) == before


def test_a_dry_run_writes_nothing_and_runs_all_that_only_reads(
    place: Place, tree: Callable[[Path], Tree]
) -> None:
    before = tree(place.root)
    ran = place.release()
    assert ran.status == 0
    assert tree(place.root) == before
    skipped = [line.split()[0] for line in ran.out.splitlines() if "skipped: dry run" in line]
    assert skipped == "upload commit read tag record".split()
    assert "manifest sha256" in ran.out


def test_a_dry_run_of_a_published_version_reads_it_back_and_writes_nothing(
    place: Place, tree: Callable[[Path], Tree]
) -> None:
    assert place.push().status == 0
    before = tree(place.root)
    ran = place.release()
    assert ran.status == 0
    assert "6 files there are those of the manifest" in ran.out
    assert tree(place.root) == before


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "report.pdf"])
def test_other_bytes_under_a_released_version_are_refused(
    place: Place, name: str, tree: Callable[[Path], Tree]
) -> None:
    assert place.push().status == 0
    file = place.checkpoint / name
    content = bytearray(file.read_bytes())
    content[-2] ^= 1 if name == "model.safetensors" else 0
    file.write_bytes(content if name == "model.safetensors" else bytes(content) + b"\n")
    before = tree(place.published)
    ran = place.push()
    assert ran.status == 1
    assert f'"{name}" has sha256' in ran.err
    assert "raise version: in recipes/tiny.yaml" in ran.err
    assert tree(place.published) == before
    assert place.release().status == 1


def test_the_next_version_is_released_beside_the_first_and_its_notes_say_what_changed(place: Place) -> None:
    assert place.push().status == 0
    weights = place.checkpoint / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2] ^= 1
    weights.write_bytes(content)
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    assert place.push().status == 0
    notes = (place.published / "tiny/1.1.0/notes.md").read_text()
    assert "Changes since 1.0.0" in notes
    assert "`config.json`: unchanged" in notes
    assert "`model.safetensors`: changed" in notes
    index = json.loads((place.published / "index.json").read_bytes())
    assert sorted(index["releases"]["tiny"]) == ["1.0.0", "1.1.0"]


def test_a_version_below_a_released_one_says_so_and_is_compared_with_the_closest_lower_one(
    place: Place,
) -> None:
    def release(version: str, before: str) -> tuple[str, str]:
        place.edit_recipe(f"version: {before}", f"version: {version}")
        ran = place.push()
        assert ran.status == 0, ran.err
        return ran.out.splitlines()[0], (place.published / f"tiny/{version}/notes.md").read_text()

    preflight, notes = release("1.0.0", "1.0.0")
    assert "higher" not in preflight
    assert "First release." in notes
    preflight, notes = release("1.0.0-rc.2", "1.0.0")
    assert preflight.endswith("; a higher version, 1.0.0, was released before")
    assert "No lower version was released; 1.0.0 was." in notes
    assert "First release" not in notes
    preflight, notes = release("1.0.0-rc.10", "1.0.0-rc.2")
    assert preflight.endswith("; a higher version, 1.0.0, was released before")
    assert "Changes since 1.0.0-rc.2:" in notes
    assert "higher" not in place.push().out  # it is published now, and in order


def test_a_card_that_would_differ_is_no_reason_to_refuse_and_the_published_one_stays(place: Place) -> None:
    assert place.push().status == 0
    card = (place.published / "tiny/1.0.0/README.md").read_bytes()
    place.edit_recipe("summary: A draft", "summary: A small draft")
    ran = place.push()
    assert ran.status == 0
    assert '"README.md" would differ now and stay as published' in ran.out
    assert (place.published / "tiny/1.0.0/README.md").read_bytes() == card


def test_a_second_target_gets_the_very_bytes_of_the_first(place: Place, tmp_path: Path) -> None:
    assert place.push().status == 0
    place.edit_recipe("summary: A draft", "summary: A small draft")
    assert place.push("--to", f"dir:{tmp_path / 'other'}").status == 0
    one, other = (folder / "tiny/1.0.0" for folder in (place.published, tmp_path / "other"))
    assert {path.name: path.read_bytes() for path in one.iterdir()} == {
        path.name: path.read_bytes() for path in other.iterdir()
    }
    assert len((place.root / "release/tiny/log.jsonl").read_text().splitlines()) == 2


def test_a_missing_index_or_record_is_mended_by_a_rerun(place: Place) -> None:
    assert place.push().status == 0
    index, record = place.published / "index.json", place.root / "release/tiny/1.0.0"
    wanted = index.read_bytes(), (record / "notes.md").read_bytes()
    index.unlink()
    (record / "notes.md").unlink()
    assert place.push().status == 0
    assert (index.read_bytes(), (record / "notes.md").read_bytes()) == wanted


@pytest.mark.parametrize("name", ["model.safetensors", "README.md", "notes.md", "report.pdf"])
@pytest.mark.parametrize("push", [True, False])
def test_a_published_file_that_was_altered_is_found_and_named(place: Place, name: str, push: bool) -> None:
    assert place.push().status == 0
    file = place.published / "tiny/1.0.0" / name
    file.chmod(0o644)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    ran = place.push() if push else place.release()
    assert ran.status == 1
    assert f'"tiny/1.0.0/{name}"' in ran.err


def test_a_published_manifest_that_was_altered_is_found_by_the_record(place: Place) -> None:
    assert place.push().status == 0
    file = place.published / "tiny/1.0.0/manifest.json"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b'"standin": false', b'"standin": true'))
    ran = place.push()
    assert ran.status == 1
    assert "manifest.json" in ran.err


def test_a_file_that_was_added_to_or_removed_from_a_published_version_is_named(place: Place) -> None:
    assert place.push().status == 0
    extra = place.published / "tiny/1.0.0/extra.safetensors"
    extra.write_bytes(b"")
    assert "extra.safetensors" in place.push().err
    extra.unlink()
    (place.published / "tiny/1.0.0/report.pdf").unlink()
    ran = place.push()
    assert ran.status == 1
    assert "report.pdf" in ran.err


def test_a_version_that_was_copied_to_another_number_is_no_release(place: Place) -> None:
    assert place.push().status == 0
    shutil.copytree(place.published / "tiny/1.0.0", place.published / "tiny/1.0.1")
    place.edit_recipe("version: 1.0.0", "version: 1.0.1")
    ran = place.push()
    assert ran.status == 2
    assert 'holds "tiny 1.0.0"' in ran.err


def test_a_next_version_needs_the_record_of_the_one_before(place: Place) -> None:
    assert place.push().status == 0
    shutil.rmtree(place.root / "release/tiny/1.0.0")
    place.edit_recipe("version: 1.0.0", "version: 1.0.1")
    ran = place.push()
    assert ran.status == 1
    assert "git checkout -- release/tiny/1.0.0" in ran.err


def test_a_wrong_folder_stops_a_dry_run_too_and_names_what_is_missing(place: Place) -> None:
    (place.root / "empty").mkdir()
    ran = place.release("--checkpoint", str(place.root / "empty"))
    assert ran.status == 1
    assert '"model.safetensors"' in ran.err
    assert "Traceback" not in ran.err


def test_a_recorded_card_that_was_edited_after_publication_is_refused_and_left_alone(place: Place) -> None:
    assert place.push().status == 0
    card = place.root / "release/tiny/1.0.0/README.md"
    card.write_text("edited\n")
    ran = place.push()
    assert ran.status == 1
    assert "release/tiny/1.0.0/README.md is not what was published" in ran.err
    assert card.read_text() == "edited\n"


def test_a_stand_in_is_refused_unless_allowed_and_then_says_so_everywhere(place: Place) -> None:
    folder = place.standin()
    ran = place.push("--checkpoint", str(folder))
    assert ran.status == 1
    assert "stand-in" in ran.err
    assert "a sparse one fails the byte gate too" in ran.err
    assert "zoo standin tiny --out FOLDER --fill random" in ran.err
    assert not place.published.exists()
    ran = place.push("--checkpoint", str(folder), "--allow-standin")
    assert ran.status == 0, ran.err
    published = place.published / "tiny/1.0.0"
    assert read_manifest(published)["standin"] is True
    assert "stand-in" in (published / "notes.md").read_text()
    assert (
        "of a stand-in: right names and shapes, no trained weights" in (published / "README.md").read_text()
    )
    assert "warning D002" in ran.out


@pytest.mark.parametrize("fill", ["sparse", "random"])
def test_a_dry_run_says_that_a_sparse_stand_in_fails_the_byte_gate_and_a_random_one_does_not(
    place: Place, fill: str
) -> None:
    folder = place.root / fill
    assert place.run("--zoo", place.root, "standin", "tiny", "--out", folder, "--fill", fill).status == 0
    ran = place.release("--checkpoint", str(folder))
    assert ran.status == 1
    assert ("gate bytes fails" in ran.out) == (fill == "sparse")


def test_a_draft_with_nan_is_refused_and_the_finding_is_shown(place: Place) -> None:
    weights = place.checkpoint / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2:] = b"\xc0\x7f"
    weights.write_bytes(content)
    ran = place.push()
    assert ran.status == 1
    assert "error D001" in ran.out
    assert "gate bytes fails" in ran.err
    assert not place.published.exists()
    assert place.release().status == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", b'{"token": "hf_' + b"a" * 34 + b'"}'),
        ("report.pdf", b"aws AKIA" + b"A" * 16 + b" x"),
        ("report.pdf", b"-----BEGIN RSA PRIVATE KEY-----"),
    ],
)
def test_a_credential_in_a_declared_file_is_refused_and_never_shown(
    place: Place, name: str, text: bytes
) -> None:
    (place.checkpoint / name).write_bytes(text)
    ran = place.push()
    assert ran.status == 1
    assert f'"{name}"' in ran.err
    assert "a" * 34 not in ran.out + ran.err
    assert not place.published.exists()


def test_a_credential_in_the_recipe_does_not_reach_a_published_card(place: Place) -> None:
    place.edit_recipe("summary: A draft", "summary: hf_" + "b" * 34 + " A draft")
    ran = place.push()
    assert ran.status == 1
    assert "rendered README.md holds a Hugging Face token" in ran.err


def test_a_declared_file_that_is_a_link_out_of_the_folder_is_refused(place: Place, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (place.checkpoint / "report.pdf").unlink()
    (place.checkpoint / "report.pdf").symlink_to(tmp_path / "secret")
    ran = place.push()
    assert ran.status == 1
    assert "leads out of the folder" in ran.err


def test_a_snapshot_of_the_hugging_face_cache_is_released_with_the_bytes_of_its_blobs(place: Place) -> None:
    cache = place.root / "models--zoo-tests--tiny"
    snapshot = cache / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (cache / "blobs").mkdir()
    for path in place.checkpoint.iterdir():
        path.rename(cache / "blobs" / path.name)
        (snapshot / path.name).symlink_to(f"../../blobs/{path.name}")
    assert place.push("--checkpoint", str(snapshot)).status == 0
    assert not any(path.is_symlink() for path in (place.published / "tiny/1.0.0").iterdir())


def test_names_that_differ_from_a_written_one_only_in_case_are_refused(place: Place) -> None:
    place.edit_recipe("report.pdf: document", "readme.MD: document")
    (place.checkpoint / "readme.MD").write_text("hello")
    ran = place.push()
    assert ran.status == 1
    assert "only in case" in ran.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--to", "s3://bucket"], "use --to dir:PATH"),
        (["--to", "ftp://huggingface.co"], "use --to dir:PATH"),
        (["--to", "dir:"], "dir: needs a path\n  -> use --to dir:PATH"),
        (["--unchecked", "speed=no"], "the gates are: static, bytes, replay, smoke"),
        (["--unchecked", "replay"], "one reason on one line"),
        (["--unchecked", "replay= "], "one reason on one line"),
        (["--checkpoint", "nowhere"], "does not exist"),
    ],
)
def test_wrong_usage_is_exit_2_with_the_next_action(place: Place, args: list[str], said: str) -> None:
    ran = place.push(*args)
    assert ran.status == 2
    assert said in ran.err
    assert not place.published.exists()


def test_a_zoo_without_a_default_target_asks_for_one(place: Place) -> None:
    (place.root / "zoo.toml").write_text("")
    ran = place.release()
    assert ran.status == 2
    assert "--to dir:PATH" in ran.err


def test_a_source_that_cannot_be_reached_is_exit_2_with_the_next_action(place: Place) -> None:
    place.edit_recipe("source: ./checkpoint", "source: hf://zoo-tests/tiny")
    ran = place.push()
    assert ran.status == 2
    assert "--checkpoint FOLDER" in ran.err


def test_json_tells_the_same_and_is_valid_also_when_the_push_is_refused(place: Place) -> None:
    ran = place.push("--format", "json")
    assert ran.status == 0
    document = json.loads(ran.out)
    assert document["exit"] == 0
    assert {step["name"] for step in document["steps"] if step["outcome"] != "done"} == {"sign"}
    ran = place.push("--format", "json", "--checkpoint", str(place.standin()))
    document = json.loads(ran.out)
    assert (ran.status, document["exit"]) == (1, 1)
    assert document["steps"][-1]["outcome"] == "failed"
    assert "stand-in" in document["refusals"][0]["message"]
