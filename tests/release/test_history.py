"""``zoo history``: what the record of a draft tells, without asking anybody."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from tests.release.conftest import Place
from zoo.release import record
from zoo.release.events import Aliased, CardChanged, Superseded, Yanked, append, events, is_alias
from zoo.release.versions import read_history, successor
from zoo.schemas import schema
from zoo.workspace import find_zoo


def history(place: Place, *args: str) -> tuple[int, str, str]:
    ran = place.run("--zoo", place.root, "history", "tiny", *args)
    return ran.status, ran.out, ran.err


def release(place: Place, old: str, new: str) -> None:
    place.edit_recipe(f"version: {old}", f"version: {new}")
    assert place.push().status == 0


def test_every_version_is_shown_with_what_became_of_it(place: Place) -> None:
    assert place.push().status == 0
    release(place, "1.0.0", "1.1.0")
    for args in (
        ("yank", "tiny@1.0.0", "--reason", "wrong mask"),
        ("promote", "tiny@1.1.0", "--alias", "stable"),
    ):
        assert place.run("--zoo", place.root, *args).status == 0
    status, out, err = history(place)
    assert status == 0, err
    newest, oldest = out.index("tiny 1.1.0  (stable)"), out.index("tiny 1.0.0  (YANKED)")
    assert newest < oldest
    assert "yanked      wrong mask (20" in out
    assert "at dir:published as tiny/1.0.0" in out
    assert "superseded  by 1.1.0" in out
    assert "static passed, bytes passed, replay not checked, smoke not checked" in out
    assert "stable at dir:published is 1.1.0" in out
    document = json.loads(history(place, "--format", "json")[1])
    Draft202012Validator(schema("zoo-history-1")).validate(document)
    assert [version["version"] for version in document["versions"]] == ["1.0.0", "1.1.0"]
    assert document["versions"][0]["yanked"] == "wrong mask"


def test_a_name_without_a_release_is_named(place: Place) -> None:
    status, _, err = history(place)
    assert (status, 'nothing was released as "tiny"' in err) == (2, True)
    strange = place.run("--zoo", place.root, "history", "../tiny")
    assert (strange.status, "nothing was released" in strange.err) == (2, True)


def test_a_record_that_is_not_what_was_published_tells_no_gates(place: Place) -> None:
    assert place.push().status == 0
    manifest = place.root / "release" / "tiny" / "1.0.0" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b"\n")
    assert "not known: the recorded manifest is missing or is another one" in history(place)[1]


def test_a_proposal_is_shown_as_what_it_is(place: Place) -> None:
    zoo = find_zoo(place.root)
    (place.root / "release" / "tiny").mkdir(parents=True)
    record.append(zoo, "tiny", record.Proposed("2.0.0", "hf", "a" * 40, "b" * 64, 7))
    out = history(place)[1]
    assert "tiny 2.0.0  (proposed, not published)" in out
    assert "pull request 7 at hf" in out


@pytest.mark.parametrize(
    ("event", "wrong"),
    [
        ({"event": "yanked", "version": "1.0.0"}, "reason"),
        ({"event": "yanked", "version": "1.0", "reason": "x"}, "version"),
        ({"event": "yanked", "version": "1.0.0", "reason": "a\u202eb"}, "reason"),
        ({"event": "aliased", "alias": "main", "version": "1.0.0", "target": "hf", "ref": "x"}, "alias"),
        ({"event": "aliased", "alias": "stable", "version": "1.0.0", "target": "", "ref": "x"}, "target"),
        (
            {"event": "card", "version": "1.0.0", "target": "hf", "ref": "x", "card_sha256": "X"},
            "card_sha256",
        ),
        ({"event": "superseded", "repo": "a/b", "by": "../x", "target": "hf", "ref": "x"}, "by"),
    ],
)
def test_a_line_that_no_command_writes_is_named_with_its_number(
    place: Place, event: dict[str, str], wrong: str
) -> None:
    assert place.push().status == 0
    log = place.root / "release" / "tiny" / "log.jsonl"
    log.write_text(log.read_text() + json.dumps(event) + "\n")
    for verb in (("history", "tiny"), ("show", "tiny"), ("verify", "tiny@1.0.0")):
        ran = place.run("--zoo", place.root, *verb)
        assert ran.status == 2
        assert f'release/tiny/log.jsonl:2: not an event of a release log: its "{wrong}"' in ran.err
    assert "damaged release log" in place.run("--zoo", place.root, "list").out


def test_an_event_is_added_only_if_it_says_something_new(place: Place) -> None:
    zoo = find_zoo(place.root)
    (place.root / "release" / "tiny").mkdir(parents=True)
    told = [
        Yanked("1.0.0", "broken"),
        Aliased("stable", "1.0.0", "hf", "a"),
        Aliased("stable", "1.1.0", "hf", "b"),
        Aliased("stable", "1.0.0", "hf", "a"),
        Aliased("stable", "1.1.0", "dir:published", "b"),
        CardChanged("1.0.0", "hf", "c", "d" * 64),
        Superseded("acme/old", "acme/new", "hf", "e"),
    ]
    for event in told:
        assert append(zoo, "tiny", event) is True
        assert append(zoo, "tiny", event) is False
    assert events(zoo, "tiny") == tuple(told)


def test_the_successor_is_the_highest_version_that_counts() -> None:
    published = ["1.0.0", "1.1.0-rc.1", "1.1.0", "1.2.0", "2.0.0-rc.1"]
    assert successor("1.0.0", published, {}) == "1.2.0"
    assert successor("1.0.0", published, {"1.2.0": "broken"}) == "1.1.0"
    assert successor("1.1.0-rc.1", published, {}) == "2.0.0-rc.1"
    assert successor("2.0.0-rc.1", published, {}) == ""


def test_aliases_never_pass_for_commits_or_versions() -> None:
    assert all(map(is_alias, ("stable", "next", "b200-stable", "rc1", "dead")))
    assert not any(map(is_alias, ("1", "v2", "v2x", "abcdef0", "head", "a--b", "ümlaut", None, 3)))


def test_two_publications_of_a_version_are_both_shown(place: Place) -> None:
    assert place.push().status == 0
    assert place.push("--to", f"dir:{place.root / 'second'}").status == 0
    found = read_history(find_zoo(place.root), "tiny")
    assert [each.target for each in found.versions[0].published] == ["dir:published", "dir:second"]
