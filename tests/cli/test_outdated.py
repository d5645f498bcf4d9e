"""``zoo outdated``: each kind of thing that time leaves behind, and what nobody could look at."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.conftest import REPOSITORY, Ran
from tests.release.conftest import Place, _template, place  # noqa: F401
from tests.release.test_gates import add_evidence
from tests.remote.hub import COMMIT, REPO, Hub, Server, serve
from zoo.results import Outcome
from zoo.schemas import validator

PINNED = "0123456789abcdef0123456789abcdef01234567"
TARGET = "recipes/targets/tiny-target.yaml"
PROFILE = "recipes/profiles/sglang-tiny.yaml"


def outdated(place: Place, *args: str) -> Ran:  # noqa: F811
    return place.run("--zoo", place.root, "outdated", *args)


def found(place: Place, *args: str) -> list[dict[str, str]]:  # noqa: F811
    document = json.loads(outdated(place, *args, "--format", "json").out)
    validator("zoo-outdated-1").validate(document)
    items: list[dict[str, str]] = document["outdated"]
    return items


def kinds(place: Place, *args: str) -> list[str]:  # noqa: F811
    return [each["kind"] for each in found(place, *args)]


def edit(place: Place, file: str, old: str, new: str) -> None:  # noqa: F811
    path = place.root / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.fixture
def current(place: Place) -> Place:  # noqa: F811
    """A zoo with nothing outdated."""
    edit(place, PROFILE, "sglang==0.5.14", "sglang==0.5.23")
    return place


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A hub with the target's repository, whose main is ``COMMIT``."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "config.json").write_text("{}")
    with serve(Hub(tmp_path / "target")) as server:
        yield server


def on_hub(place: Place, revision: str) -> None:  # noqa: F811
    edit(
        place,
        TARGET,
        f"repo: zoo-tests/tiny-target\nrevision: {PINNED}",
        f"repo: {REPO}\nrevision: {revision}",
    )


def test_a_zoo_with_nothing_outdated_says_what_was_not_asked(current: Place) -> None:
    ran = outdated(current)
    assert ran.status == 0
    assert "up to date  tiny" in ran.out
    assert (
        "not checked newest revision of zoo-tests/tiny-target (tiny): the hub is asked with --online"
        in ran.out
    )


def test_an_engine_older_than_the_newest_known_is_named(place: Place) -> None:  # noqa: F811
    (item,) = found(place)
    assert item["message"] == "profile sglang-tiny pins SGLang 0.5.14; the newest that zoo knows is 0.5.23"
    assert item["where"] == {"file": PROFILE, "line": 3, "column": 1, "pointer": "/engine"}
    command = re.search(r"zoo (impact \S+);", item["hint"])
    assert command is not None
    assert place.run("--zoo", place.root, *command[1].split()).status == 0


def test_what_was_served_with_that_engine_is_named_too(run_zoo: Callable[..., Ran]) -> None:
    ran = run_zoo("--zoo", REPOSITORY, "outdated", "tiny-ft")
    assert "SGLang 0.5.14 and was served with it (smoke-sglang-0.5.14-h200x1-tiny); the newest" in ran.out


@pytest.mark.parametrize(("version", "messages"), [("0.5.15", 2), ("0.6.0", 1)])
def test_an_engine_that_nobody_has_read_is_named(
    place: Place,  # noqa: F811
    version: str,
    messages: int,
) -> None:
    edit(place, PROFILE, "sglang==0.5.14", f"sglang=={version}")
    items = found(place)
    assert len(items) == messages
    assert f"pins SGLang {version}, and nobody has read what that makes of a draft" in items[0]["message"]


def test_evidence_that_does_not_count_any_more_is_named(current: Place) -> None:
    path = add_evidence(current, "replay", Outcome.PASSED)
    assert kinds(current) == []
    edit(current, TARGET, PINNED, "f" * 40)
    (item,) = found(current)
    assert item["kind"] == "evidence"
    assert "replay-held-out of 1.0.0 does not count any more: what it depends on" in item["message"]
    assert item["where"] == {"file": path.relative_to(current.root).as_posix()}


def test_evidence_that_is_refused_is_named(current: Place) -> None:
    path = add_evidence(current, "replay", Outcome.PASSED)
    path.write_text(path.read_text().replace('"evidence/1"', '"evidence/9"'))
    assert kinds(current) == ["evidence"]


def test_waivers_are_named_before_they_end_and_after(current: Place) -> None:
    recipe = current.root / "recipes" / "tiny.yaml"
    waiver = "{code: R020, reason: nobody wrote it down, until: 2027-03-01}"
    recipe.write_text(f"{recipe.read_text()}waivers: [{waiver}]\n")
    assert kinds(current, "--now", "2027-01-29") == []
    assert kinds(current, "--now", "2027-01-29", "--days", "31") == ["waiver"]
    (soon,) = found(current, "--now", "2027-02-27")
    assert soon["message"] == "the waiver of R020 ends on 2027-03-01, in 2 days: nobody wrote it down"
    (late,) = found(current, "--now", "2027-03-02")
    assert "ended on 2027-03-01" in late["message"]


def test_a_release_for_another_target_revision_is_named(current: Place) -> None:
    assert current.push().status == 0
    assert kinds(current) == []
    edit(current, TARGET, PINNED, "f" * 40)
    (item,) = found(current)
    assert item["kind"] == "target"
    assert item["message"] == (
        'release 1.0.0 was made for "zoo-tests/tiny-target" at 0123456789ab; '
        'the target file says "zoo-tests/tiny-target" at ffffffffffff'
    )
    assert current.run("--zoo", current.root, "yank", "tiny@1.0.0", "--reason", "x").status == 0
    assert kinds(current) == []


def test_a_target_that_moved_on_is_found_online_only(current: Place, hub: Server) -> None:
    on_hub(current, PINNED)
    assert kinds(current) == []
    (item,) = found(current, "--endpoint", hub.url)
    assert item["message"] == f'"{REPO}" is at {COMMIT[:12]}; the target file pins {PINNED[:12]}'
    assert item["where"]["file"] == TARGET


def test_a_target_at_its_newest_commit_is_up_to_date(current: Place, hub: Server) -> None:
    on_hub(current, COMMIT)
    ran = outdated(current, "--endpoint", hub.url)
    assert (ran.status, ran.out) == (0, "up to date  tiny\n")


def test_a_hub_that_does_not_know_the_target_is_not_checked_and_exit_2(current: Place, hub: Server) -> None:
    ran = outdated(current, "--endpoint", hub.url)
    assert ran.status == 2
    assert "not checked newest revision of zoo-tests/tiny-target (tiny): " in ran.out
    assert "up to date" not in ran.out


def test_a_target_without_a_pin_is_not_asked_for(current: Place, hub: Server) -> None:
    edit(current, TARGET, PINNED, "unknown")
    ran = outdated(current, "--endpoint", hub.url)
    assert ran.status == 0
    assert "the target file pins no commit (R021)" in ran.out


def test_a_recipe_that_cannot_be_used_is_exit_2(current: Place) -> None:
    current.edit_recipe("layers: 2", "layers: two")
    ran = outdated(current)
    assert ran.status == 2
    assert "the recipe cannot be used; see: zoo verify tiny" in ran.out


def test_as_markdown_it_is_a_table(place: Place) -> None:  # noqa: F811
    lines = outdated(place, "tiny", "--format", "markdown").out.splitlines()
    assert lines[0] == "| draft | what | finding | next |"
    assert lines[2].startswith("| `tiny` | engine | profile sglang-tiny pins SGLang 0.5.14")
    assert lines[4].startswith("- `tiny`: newest revision of zoo-tests/tiny-target not checked")


def test_an_unknown_name_is_usage(place: Place) -> None:  # noqa: F811
    assert outdated(place, "tinny").status == 2
