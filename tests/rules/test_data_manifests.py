"""Data manifests: the training data against what the recipe says that it is disjoint from."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.beside import HASHES, data_manifest, training_data
from tests.corpus.kit import good_draft, good_recipe
from zoo.recipe import data as reader
from zoo.results import CheckResult, Finding, Outcome, Report
from zoo.verify import verify_recipe
from zoo.workspace import find_zoo


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    good_draft(tmp_path / "draft")
    good_recipe(tmp_path / "draft")
    return tmp_path / "draft"


def verified(folder: Path) -> Report:
    return verify_recipe(find_zoo(folder.parent), "draft", checkpoint=str(folder)).report


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings} - {"R020"}


def result(report: Report, code: str) -> CheckResult:
    return next(result for result in report.results if result.code == code)


def found(report: Report, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == code]


def test_an_overlap_is_counted_and_its_first_conversation_named(draft: Path) -> None:
    own = data_manifest(draft, "traffic", HASHES[:5])
    other = data_manifest(draft, "bench", HASHES[3:])
    training_data(draft, manifest=own, disjoint_from=[{"name": "bench", "manifest": other}])
    report = verified(draft)
    (finding,) = found(report, "R040")
    assert finding.message == (
        '2 of 5 conversations of "bench" are in the training data, the first 000000000000'
    )
    assert [place.file for place in finding.related] == [
        "recipes/traffic.data.json",
        "recipes/bench.data.json",
    ]
    assert finding.where.file == "recipes/draft.yaml"
    assert report.exit_status == 1


def test_each_entry_is_compared_for_itself(draft: Path) -> None:
    own = data_manifest(draft, "traffic", HASHES[:3])
    apart, bench = data_manifest(draft, "apart", HASHES[5:]), data_manifest(draft, "bench", HASHES[2:4])
    entries = [
        "a line of text",
        {"name": "apart", "manifest": apart},
        {"name": "bench", "manifest": bench},
    ]
    training_data(draft, manifest=own, disjoint_from=entries)
    report = verified(draft)
    assert codes(report) == {"R025", "R040"}
    assert [finding.where.pointer for finding in found(report, "R040")] == ["/training/data/disjoint_from/2"]
    assert [finding.message for finding in found(report, "R025")] == [
        "training.data.disjoint_from.0 is stated and not checked"
    ]


@pytest.mark.parametrize(
    "stated",
    [
        {"disjoint_from": ["bench"]},
        {"manifest": "traffic.data.json", "disjoint_from": ["bench"]},
        {"disjoint_from": [{"name": "bench", "manifest": "bench.data.json"}]},
    ],
)
def test_without_both_manifests_it_is_not_checked_and_the_exit_does_not_change(
    draft: Path, stated: dict[str, Any]
) -> None:
    data_manifest(draft, "traffic", HASHES[:3])
    data_manifest(draft, "bench", HASHES[5:])
    training_data(draft, **stated)
    report = verified(draft)
    assert codes(report) == {"R025"}
    assert report.exit_status == 0
    assert result(report, "R040").outcome is Outcome.NOT_CHECKED
    assert "no two data manifests" in result(report, "R040").reason


def test_a_recipe_that_says_nothing_of_it_passes(draft: Path) -> None:
    assert result(verified(draft), "R040").outcome is Outcome.PASSED


def test_manifests_in_two_forms_are_not_compared(draft: Path) -> None:
    own = data_manifest(draft, "traffic", HASHES[:3])
    other = data_manifest(draft, "bench", HASHES[2:4], normalisation="another form")
    training_data(draft, manifest=own, disjoint_from=[{"name": "bench", "manifest": other}])
    report = verified(draft)
    assert {"R043", "R025"} <= codes(report)
    assert result(report, "R040").outcome is Outcome.NOT_CHECKED


def test_a_manifest_outside_of_the_recipes_is_not_read(draft: Path) -> None:
    name = data_manifest(draft, "traffic", HASHES[:3])
    (draft.parent / "recipes" / name).rename(draft.parent / "traffic.json")
    (draft.parent / "recipes" / "link.json").symlink_to(draft.parent / "traffic.json")
    training_data(draft, manifest="link.json")
    (finding,) = found(verified(draft), "R041")
    assert finding.message == 'data manifest "recipes/link.json" is not there'


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "data-manifest/2"},
        {"conversations": []},
        {"conversations": [HASHES[0], HASHES[0]]},
        {"conversations": ["0" * 63]},
        {"conversations": ["0" * 64 + "\n"]},
        {"more": 1},
        {"normalisation": ""},
    ],
)
def test_what_is_no_manifest_is_said_once(draft: Path, changes: dict[str, Any]) -> None:
    training_data(draft, manifest=data_manifest(draft, "traffic", HASHES[:3], **changes))
    (finding,) = found(verified(draft), "R041")
    assert finding.message.startswith("not a data manifest: ")
    assert finding.where.file == "recipes/traffic.data.json"
    assert finding.related[0].file == "recipes/draft.yaml"


def test_a_manifest_beyond_the_limit_is_said(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SIZE_LIMIT", 100)
    training_data(draft, manifest=data_manifest(draft, "traffic", HASHES[:3]))
    (finding,) = found(verified(draft), "R041")
    assert "more than 100 bytes" in finding.message


def test_count_and_digest_of_the_recipe_are_those_of_the_file(draft: Path) -> None:
    name = data_manifest(draft, "traffic", HASHES[:3])
    digest = hashlib.sha256((draft.parent / "recipes" / name).read_bytes()).hexdigest()
    training_data(draft, manifest=name, conversations=4, manifest_sha256="1" * 64)
    said = [finding.message for finding in found(verified(draft), "R042")]
    assert said == [
        "the recipe says 4 conversations, the manifest has 3",
        f"the data manifest has the sha256 {digest}, the recipe says another",
    ]


def test_unknown_numbers_contradict_nothing(draft: Path) -> None:
    name = data_manifest(draft, "traffic", HASHES[:3])
    training_data(draft, manifest=name, conversations="unknown", manifest_sha256="unknown")
    assert codes(verified(draft)) == set()


def test_manifests_of_two_forms_are_not_compared(draft: Path) -> None:
    own = data_manifest(draft, "traffic", HASHES[:5])
    other = data_manifest(draft, "bench", HASHES[:5], normalisation="another")
    training_data(draft, manifest=own, disjoint_from=[{"name": "bench", "manifest": other}])
    assert codes(verified(draft)) == {"R025", "R043"}


def test_an_entry_with_an_unknown_key_is_refused(draft: Path) -> None:
    training_data(draft, disjoint_from=[{"name": "bench", "manifst": "x.json"}])
    assert codes(verified(draft)) >= {"R005"}
