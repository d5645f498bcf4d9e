"""Evidence: strict reading, impossible counts, staleness and whole-file writing."""
# ruff: noqa: F401, F811 - fixtures are imported, and named again as parameters

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.card.conftest import DIGEST, edited, kimi, kimi_zoo, record, save
from zoo.atomic import write_atomically
from zoo.evidence import evidence_folder, load_evidence, write_evidence
from zoo.recipe.model import Recipe
from zoo.results import Outcome
from zoo.workspace import Zoo

Change = Callable[[dict[str, Any]], object]


def test_a_record_that_was_written_is_read_back_equal(kimi_zoo: Zoo, kimi: Recipe) -> None:
    written = record(kimi)
    save(kimi_zoo, kimi, written)
    assert load_evidence(kimi_zoo, kimi, DIGEST) == ((written,), ())


def test_records_come_in_the_order_of_their_names(kimi_zoo: Zoo, kimi: Recipe) -> None:
    for kind in ("smoke", "bench"):
        save(kimi_zoo, kimi, record(kimi, kind, "sglang-0.5.14-b200x8"))
    save(kimi_zoo, kimi, record(kimi, "reference"))
    records, findings = load_evidence(kimi_zoo, kimi)
    assert [each.kind for each in records] == ["bench", "reference", "smoke"]
    # What was served, a record without gates does not say (tests/smoke/test_consistency.py).
    assert [each.stale for each in records] == [
        "",
        "",
        "it has no gates, so that nobody knows what was asked",
    ]
    assert findings == ()


def test_no_evidence_folder_is_no_evidence(kimi_zoo: Zoo, kimi: Recipe) -> None:
    assert load_evidence(kimi_zoo, kimi) == ((), ())


def test_evidence_of_another_checkpoint_is_stale(kimi_zoo: Zoo, kimi: Recipe) -> None:
    save(kimi_zoo, kimi, record(kimi))
    (found,), _ = load_evidence(kimi_zoo, kimi, "f" * 64)
    assert found.stale == "it was made for another checkpoint"


def test_evidence_is_stale_when_the_recipe_changes_a_fact_but_not_when_it_changes_prose(
    kimi_zoo: Zoo,
    kimi: Recipe,
    edited: Any,
) -> None:
    save(kimi_zoo, kimi, record(kimi))
    prose = edited(lambda data: data.update(title="Another"))
    assert [each.stale for each in load_evidence(kimi_zoo, prose, DIGEST)[0]] == [""]
    fact = edited(lambda data: data["draft"]["mask_token"].update(id=163837))
    (found,), _ = load_evidence(kimi_zoo, fact, DIGEST)
    assert "has changed since" in found.stale


def test_evidence_of_a_profile_that_the_recipe_does_not_declare_is_stale(
    kimi_zoo: Zoo,
    kimi: Recipe,
) -> None:
    save(kimi_zoo, kimi, record(kimi, "smoke", "other-profile"))
    (found,), _ = load_evidence(kimi_zoo, kimi)
    assert found.stale == "the recipe declares no profile other-profile"


IMPOSSIBLE = [
    (lambda m: m.update(verify_steps=99), "verify_steps is 99, but the accept histogram counts 100"),
    (lambda m: m.update(correct_drafts=271), "correct_drafts is 271, but the accept histogram gives 270"),
    (lambda m: m.update(accept_length=3.8), "accept_length is 3.8, but 1 + 270 / 100 is 3.7000"),
    (lambda m: (m.pop("accept_histogram"), m.update(accept_length=4.7)), "accept_length is 4.7"),
    (
        lambda m: m.update(accept_histogram=[0] * 8, verify_steps=1, correct_drafts=0, accept_length=1),
        "verify_steps is 1, but the accept histogram counts 0",
    ),
    (
        lambda m: m.update(accept_histogram=[100, 0], correct_drafts=0, accept_length=1),
        "the accept histogram has 2 entries, but block size 8 gives 8",
    ),
]


@pytest.mark.parametrize(("change", "expected"), IMPOSSIBLE)
def test_impossible_counts_are_refused(kimi_zoo: Zoo, kimi: Recipe, change: Change, expected: str) -> None:
    path = save(kimi_zoo, kimi, record(kimi))
    data = json.loads(path.read_text())
    change(data["results"][0]["measured"])
    path.write_text(json.dumps(data))
    records, findings = load_evidence(kimi_zoo, kimi, DIGEST)
    assert records == ()
    assert {finding.code for finding in findings} == {"K006"}
    assert any(expected in finding.message for finding in findings)
    assert all(
        finding.where.file == "release/kimi-ft-v3/1.0.0/evidence/replay-held-out.json" for finding in findings
    )


MALFORMED: list[tuple[Change, str]] = [
    (lambda d: d.pop("basis_digest"), "basis_digest"),
    (lambda d: d.update(extra=1), "extra"),
    (lambda d: d.update(schema="evidence/2"), "evidence/1"),
    (lambda d: d.update(kind="guess"), "guess"),
    (lambda d: d.update(subject="other"), 'its kind and subject say "replay-other.json"'),
    (lambda d: d.update(checkpoint_digest="A" * 64), "checkpoint_digest"),
    (lambda d: d["engine"].update(argv=["--model-path", "/srv/models/x"]), "argv"),
    (lambda d: d["engine"].update(argv=["--model-path=/srv/models/x"]), "argv"),
    (lambda d: d["engine"].update(argv=["hf_" + "a" * 34]), "argv"),
    (lambda d: d.update(started="yesterday"), "started"),
    (lambda d: d.update(started="2026-11-30T10:00:00Z\n"), "started"),
    (lambda d: d.update(checkpoint_digest="a" * 64 + "\n"), "checkpoint_digest"),
    (lambda d: d.update(tool="draft-zoo 0.1.0\n"), "tool"),
    (lambda d: d["results"][0].update(outcome="failed"), "reason"),
    (lambda d: d.update(results=[]), "results"),
    (lambda d: d["results"][0]["measured"].update(verify_steps=1.5), "verify_steps"),
    (lambda d: d["results"][0]["measured"].update(accept_length=0.5), "accept_length"),
    (lambda d: d["results"][0]["measured"].update(nested={"a": 1}), "nested"),
]


@pytest.mark.parametrize(("change", "expected"), MALFORMED)
def test_a_file_that_is_no_record_is_refused(
    kimi_zoo: Zoo, kimi: Recipe, change: Change, expected: str
) -> None:
    path = save(kimi_zoo, kimi, record(kimi))
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))
    records, findings = load_evidence(kimi_zoo, kimi)
    assert records == ()
    assert {finding.code for finding in findings} == {"K005"}
    assert any(expected in finding.message for finding in findings)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"kind": "replay"', '"kind": "replay", "kind": "smoke"'),
        ('"verify_steps": 100', '"verify_steps": NaN'),
        (
            "{",
            "",
        ),
        ('"started"', '"x": "' + "x" * 1_100_000 + '", "started"'),
    ],
    ids=["duplicate key", "NaN", "not JSON", "too large"],
)
def test_a_file_that_readers_could_understand_differently_is_refused(
    kimi_zoo: Zoo,
    kimi: Recipe,
    old: str,
    new: str,
) -> None:
    path = save(kimi_zoo, kimi, record(kimi))
    path.write_text(path.read_text().replace(old, new, 1))
    records, findings = load_evidence(kimi_zoo, kimi)
    assert records == ()
    assert findings[0].code == "K005"


def test_a_day_that_does_not_exist_and_an_end_before_the_start_are_refused(
    kimi_zoo: Zoo,
    kimi: Recipe,
) -> None:
    for change in ({"ended": "2026-11-30T09:00:00Z"}, {"started": "2026-02-30T09:00:00Z"}):
        path = save(kimi_zoo, kimi, record(kimi))
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        assert [finding.code for finding in load_evidence(kimi_zoo, kimi)[1]] == ["K006"]


def test_another_name_and_a_link_out_of_the_zoo_are_refused(
    kimi_zoo: Zoo,
    kimi: Recipe,
    tmp_path: Path,
) -> None:
    path = save(kimi_zoo, kimi, record(kimi))
    outside = tmp_path / "outside.json"
    path.rename(outside)
    path.symlink_to(outside)
    (path.parent / "notes.json").write_text("{}")
    records, findings = load_evidence(kimi_zoo, kimi)
    assert records == ()
    assert [finding.message for finding in findings] == [
        '"notes.json" is not named KIND-SUBJECT.json',
        "a link that leads out of the zoo",
    ]


def test_a_record_that_contradicts_itself_is_not_written(kimi_zoo: Zoo, kimi: Recipe) -> None:
    folder = evidence_folder(kimi_zoo, kimi)
    with pytest.raises(ValueError, match="verify_steps is 7"):
        write_evidence(folder / "replay-held-out.json", record(kimi, verify_steps=7))
    with pytest.raises(ValueError, match=r"written as replay-x\.json"):
        write_evidence(folder / "replay-x.json", record(kimi))
    assert not folder.exists()


def test_a_record_passes_only_if_all_its_checks_passed(kimi: Recipe) -> None:
    passed = record(kimi)
    assert passed.outcome is Outcome.PASSED
    for outcome in (Outcome.FAILED, Outcome.NOT_CHECKED):
        other = replace(passed.results[0], outcome=outcome, reason="x")
        assert replace(passed, results=(*passed.results, other)).outcome is outcome


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_replaces_a_link_and_does_not_follow_it(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "file").symlink_to(tmp_path / "other")
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "other").read_bytes() == b"other"
    assert (tmp_path / "file").read_bytes() == b"new"
