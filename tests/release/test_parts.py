"""The small parts of a release: SemVer order, the log, manifests, credentials, notes."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from tests.release.conftest import Place
from zoo.errors import TargetUnusableError, UnreadableError
from zoo.release import credentials, manifest, record
from zoo.release.record import Entry
from zoo.release.steps import STEPS
from zoo.workspace import find_zoo


def test_versions_have_the_order_of_semver() -> None:
    # The example of semver.org, rule 11.
    ordered = (
        "0.9.9 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1"
    )
    ordered = f"{ordered} 1.0.0 1.0.1 1.2.0 1.10.0 2.0.0"
    for one, other in itertools.combinations(ordered.split(), 2):
        assert record.precedence(one) < record.precedence(other), (one, other)


def test_a_pre_release_is_lower_than_its_release_when_versions_are_weighed() -> None:
    entries = tuple(Entry(version, "dir:a", "", "") for version in ("1.0.0-rc.2", "1.0.0-rc.10", "0.9.0"))
    assert record.higher("1.0.0-rc.9", entries) == "1.0.0-rc.10"
    assert record.higher("1.0.0", entries) is None
    assert record.higher("1.0.0", ()) is None


GOOD = {"event": "published", "version": "0.1.0", "target": "dir:x", "ref": "x", "manifest_sha256": "0" * 64}


@pytest.mark.parametrize(
    "line",
    [
        *[b"not json", b"[]", b'{"event": 1}', b'{"event": "publ', b"\xff", b""],
        b'{"event": "published"}',
        b'{"event": "yanked", "event": "published"}',
        *[
            json.dumps(GOOD | wrong).encode()
            for wrong in (
                {"version": "1"},
                {"version": "1.0.0\n"},
                {"version": "../../x"},
                {"version": 1},
                {"target": None},
                {"ref": 1},
                {"manifest_sha256": "0" * 63},
                {"manifest_sha256": "0" * 64 + "\n"},
                {"manifest_sha256": None},
            )
        ],
    ],
)
def test_a_damaged_log_is_named_with_its_line(place: Place, line: bytes) -> None:
    log = place.root / "release/tiny/log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(json.dumps(GOOD).encode() + b"\n" + line + b"\n")
    with pytest.raises(UnreadableError, match=r"release/tiny/log.jsonl:2: "):
        record.published(find_zoo(place.root), "tiny")
    ran = place.push()
    assert ran.status == 2
    assert "release/tiny/log.jsonl:2: not an event" in ran.err
    assert not place.published.exists()


def test_events_of_other_kinds_are_left_alone(place: Place) -> None:
    assert place.push().status == 0
    log = place.root / "release/tiny/log.jsonl"
    text = log.read_text() + '{"event": "of a later tool", "version": "0.9.0"}\n'
    log.write_text(text)
    assert place.push().status == 0
    assert log.read_text() == text


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("files"),
        lambda d: d.update(extra=1),
        lambda d: d.update(name="../tiny"),
        lambda d: d.update(version="1.0.0\n"),
        lambda d: d["files"][0].update(path="../../etc/passwd"),
        lambda d: d["files"][0].update(path="/etc/passwd"),
        lambda d: d["files"][0].update(sha256="F" * 64),
        lambda d: d["files"].append(d["files"][0]),
        lambda d: d["gates"].pop("smoke"),
    ],
)
def test_a_manifest_that_is_not_one_is_refused(place: Place, damage: object) -> None:
    assert place.push().status == 0
    path = place.published / "tiny/1.0.0/manifest.json"
    document = json.loads(path.read_bytes())
    damage(document)  # type: ignore[operator]
    with pytest.raises(TargetUnusableError, match="not a manifest of a release"):
        manifest.parse(json.dumps(document).encode(), "it")
    with pytest.raises(TargetUnusableError, match="not JSON"):
        manifest.parse(b"{", "it")


def test_credentials_are_found_only_where_they_are() -> None:
    assert credentials.find(b"hf_short and AKIA, hf_transfer, a PRIVATE KEY") is None
    assert credentials.find(b"x hf_" + b"A1" * 17) == "a Hugging Face token"
    assert credentials.find(b"ghp_" + b"a" * 36) == "a GitHub token"
    assert credentials.find(b"-----BEGIN OPENSSH PRIVATE KEY-----") == "a private key"
    assert credentials.find(b"-----BEGIN PUBLIC KEY-----") is None


def test_of_weights_the_header_is_searched_for_credentials(tmp_path: Path) -> None:
    large, padding = tmp_path / "weights", bytes(5 * 1024 * 1024)
    large.write_bytes(b"hf_" + b"a" * 34 + padding)
    assert credentials.find_in_file(large) == "a Hugging Face token"
    large.write_bytes(padding + b"hf_" + b"a" * 34)
    assert credentials.find_in_file(large) is None


def test_the_token_in_use_is_found_whatever_its_shape() -> None:
    assert credentials.find(b'{"note": "abc123"}', ["abc123"]) == "the very token that is in use"
    assert credentials.find(b'{"note": "abc123"}', ["other"]) is None


def test_the_steps_are_named_explained_and_write_only_at_the_end() -> None:
    assert len({step.name for step in STEPS}) == len(STEPS)
    assert all(step.about for step in STEPS)
    assert [step.name for step in STEPS if step.writes] == ["upload", "commit", "tag", "record"]
    assert STEPS[-1].name == "record"
