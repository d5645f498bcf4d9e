"""A zoo that came with a pull request: links, FIFOs and names that would lead a release elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import zoo.release.steps as steps
from tests.release.conftest import Place, Tree
from zoo.release.context import Done, Release, Skip
from zoo.release.paths import SIZE_LIMIT


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("SECRET\n")
    return folder


IN_RELEASE = ["release", "release/tiny", "release/tiny/1.0.0"]
FILES = ["log.jsonl", "1.0.0/README.md", "1.0.0/notes.md", "1.0.0/manifest.json"]


@pytest.mark.parametrize("path", IN_RELEASE)
def test_a_release_is_not_recorded_through_a_linked_folder(
    place: Place, outside: Path, path: str, tree: Callable[[Path], Tree]
) -> None:
    link = place.root / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    before = tree(outside)
    ran = place.push()
    assert ran.status == 1
    assert f'"{path}" is a link' in ran.err
    assert "replace the link" in ran.err
    assert tree(outside) == before
    assert not place.published.exists()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("inside", [False, True])
def test_a_release_is_not_recorded_through_a_linked_file_wherever_it_leads(
    place: Place, outside: Path, file: str, inside: bool
) -> None:
    victim = place.root / "victim" if inside else outside / "file"
    victim.write_text("")
    link = place.root / "release/tiny" / file
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    ran = place.push()
    assert ran.status == 1
    assert f'"release/tiny/{file}" is a link' in ran.err
    assert victim.read_text() == ""
    assert not place.published.exists()


def test_a_log_that_becomes_a_link_while_a_release_runs_is_not_followed(
    place: Place, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(release: Release) -> Done | Skip:
        log = place.root / "release/tiny/log.jsonl"
        log.parent.mkdir(parents=True)
        log.symlink_to(outside / "new")
        return steps.publish.record(release)

    wrapped = tuple(replace(s, run=changed) if s.name == "record" else s for s in steps.STEPS)
    monkeypatch.setattr(steps, "STEPS", wrapped)
    ran = place.push()
    assert ran.status == 2
    assert "IS published" in ran.err
    assert '"release/tiny/log.jsonl" is a link' in ran.err
    assert not (outside / "new").exists()


@pytest.mark.parametrize("spec", ["published", "published/below", "./published", "{root}/published"])
def test_the_settings_cannot_publish_through_a_link_in_the_zoo(
    place: Place, outside: Path, spec: str, tree: Callable[[Path], Tree]
) -> None:
    (place.root / "zoo.toml").write_text(f'publish_to = "dir:{spec.format(root=place.root)}"\n')
    place.published.symlink_to(outside)
    before = tree(outside)
    for ran in (place.push(), place.release()):
        assert ran.status == 2
        assert 'of zoo.toml: "published" is a link' in ran.err
        assert "--to dir:PATH" in ran.err
    assert tree(outside) == before


@pytest.mark.parametrize("spec", ["../outside", "{outside}", "../linked", "{outside}/../linked"])
def test_the_settings_can_name_a_folder_outside_of_the_zoo_and_it_is_used_as_it_is(
    place: Place, outside: Path, spec: str
) -> None:
    (outside.parent / "linked").symlink_to(outside)
    (place.root / "zoo.toml").write_text(f'publish_to = "dir:{spec.format(outside=outside)}"\n')
    assert place.push().status == 0
    assert (outside / "tiny/1.0.0/manifest.json").is_file()


def test_what_a_person_types_may_be_a_link(place: Place, outside: Path) -> None:
    place.published.symlink_to(outside)
    assert place.push("--to", f"dir:{place.published}").status == 0
    assert (outside / "tiny/1.0.0/manifest.json").is_file()


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("path", ["tiny", "tiny/1.0.0"])
def test_nothing_is_published_through_a_linked_folder_of_the_draft(
    place: Place, outside: Path, typed: bool, path: str, tree: Callable[[Path], Tree]
) -> None:
    link = place.published / path
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    before = tree(outside)
    ran = place.push(*(["--to", f"dir:{place.published}"] if typed else []))
    assert ran.status == 2
    assert f'"{link}" is a link, and a release lies in a folder of its own' in ran.err
    assert tree(outside) == before


def test_a_draft_folder_that_becomes_a_link_while_a_release_runs_is_not_followed(
    place: Place, outside: Path, monkeypatch: pytest.MonkeyPatch, tree: Callable[[Path], Tree]
) -> None:
    def changed(release: Release) -> Done | Skip:
        (place.published / "tiny").symlink_to(outside)
        return steps.publish.commit(release)

    wrapped = tuple(replace(s, run=changed) if s.name == "commit" else s for s in steps.STEPS)
    monkeypatch.setattr(steps, "STEPS", wrapped)
    before = tree(outside)
    ran = place.push()
    assert ran.status == 2
    assert "is a link" in ran.err
    assert tree(outside) == before


def test_the_lock_and_the_index_of_a_directory_are_not_followed(place: Place, outside: Path) -> None:
    place.published.mkdir()
    (place.published / ".lock").symlink_to(outside / "new")
    ran = place.push()
    assert ran.status == 2
    assert f"{place.published}/.lock" in ran.err
    assert not (outside / "new").exists()
    (place.published / ".lock").unlink()
    (place.published / "index.json").symlink_to(outside / "file")
    assert place.push().status == 0
    assert (outside / "file").read_text() == "SECRET\n"
    assert not (place.published / "index.json").is_symlink()


def test_the_index_lists_nothing_that_a_link_leads_to(place: Place, outside: Path) -> None:
    assert place.push("--to", f"dir:{outside}").status == 0
    (outside / "tiny").rename(outside / "other")
    manifest = outside / "other/1.0.0/manifest.json"
    manifest.chmod(0o644)
    manifest.write_text(
        manifest.read_text().replace('"name": "tiny",\n  "recipe', '"name": "other",\n  "recipe')
    )
    place.published.mkdir()
    (place.published / "other").symlink_to(outside / "other")
    assert place.push().status == 0
    assert "other" not in (place.published / "index.json").read_text()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("what", ["fifo", "folder", "large"])
def test_what_is_no_small_file_below_release_is_named_and_never_waited_for(
    place: Place, file: str, what: str
) -> None:
    path = place.root / "release/tiny" / file
    path.parent.mkdir(parents=True)
    _put(path, what)
    for ran in (place.push(), place.release()):
        assert ran.status == 2
        assert f"release/tiny/{file}" in ran.out + ran.err
        assert "Traceback" not in ran.err
    assert not place.published.exists()


@pytest.mark.parametrize("file", ["manifest.json", "README.md", "notes.md", "report.pdf"])
@pytest.mark.parametrize("what", ["fifo", "folder"])
def test_what_is_no_file_in_a_published_version_is_named_and_never_waited_for(
    place: Place, file: str, what: str
) -> None:
    assert place.push().status == 0
    path = place.published / "tiny/1.0.0" / file
    path.unlink()
    _put(path, what)
    for ran in (place.push(), place.release()):
        assert ran.status in (1, 2)
        assert file in ran.err
        assert "tiny/1.0.0" in ran.err
        assert "Traceback" not in ran.err


def test_a_fifo_in_another_version_does_not_stop_a_release(place: Place) -> None:
    other = place.published / "tiny/0.9.0/manifest.json"
    other.parent.mkdir(parents=True)
    os.mkfifo(other)
    assert place.push().status == 0


def _put(path: Path, what: str) -> None:
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, SIZE_LIMIT + 1)


def test_a_recipe_that_is_called_like_the_index_of_a_directory_is_refused_before_anything_is_written(
    place: Place,
) -> None:
    recipe = place.root / "recipes/tiny.yaml"
    renamed = recipe.with_name("index.json.yaml")
    renamed.write_text(recipe.read_text().replace("name: tiny\n", "name: index.json\n"))
    ran = place.run("--zoo", place.root, "release", "index.json", "--push")
    assert ran.status == 1
    assert 'a recipe called "index.json" cannot be published to a directory' in ran.err
    assert "give the recipe another name" in ran.err
    assert not place.published.exists()


def test_a_folder_where_the_index_belongs_is_told_before_anything_is_written(place: Place) -> None:
    (place.published / "index.json").mkdir(parents=True)
    ran = place.push()
    assert ran.status == 2
    assert "the list of releases belongs there" in ran.err
    assert [path.name for path in place.published.iterdir()] == ["index.json"]


def test_an_edit_of_the_same_size_that_puts_the_time_back_is_seen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = place.checkpoint / "model.safetensors"

    def changed(release: Release) -> Done | Skip:
        outcome = steps.prepare.stage(release)
        before, content = weights.stat(), bytearray(weights.read_bytes())
        content[-2] ^= 1
        time.sleep(0.02)
        weights.write_bytes(content)
        os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
        return outcome

    wrapped = tuple(replace(s, run=changed) if s.name == "stage" else s for s in steps.STEPS)
    monkeypatch.setattr(steps, "STEPS", wrapped)
    ran = place.push()
    assert ran.status == 2
    assert "changed while it was verified" in ran.err
    assert not place.published.exists()
