"""The bytes of a draft against those of its base, and what is not checked without them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.corpus.beside import base
from tests.corpus.kit import (
    WEIGHTS,
    Tensor,
    draft_tensors,
    good_draft,
    good_recipe,
    load,
    save,
    sharded_draft,
)
from zoo.checkpoint import compare
from zoo.checkpoint.compare import unchanged_tensors
from zoo.checkpoint.folder import open_checkpoint
from zoo.errors import UnreadableError
from zoo.results import CheckResult, Outcome, Report
from zoo.rules import Level
from zoo.verify import verify_recipe
from zoo.workspace import find_zoo

CODES = ("B003", "B004", "B005")


def verified(folder: Path, level: Level = Level.DEEP, base: str | None = None) -> Report:
    return verify_recipe(
        find_zoo(folder.parent), "draft", checkpoint=str(folder), base=base, level=level
    ).report


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings} - {"R020"}


def results(report: Report) -> dict[str, CheckResult]:
    return {result.code: result for result in report.results}


def load_tensors(folder: Path) -> dict[str, Tensor]:
    header, data = load(folder / WEIGHTS)
    header.pop("__metadata__", None)
    return {
        name: (each["dtype"], tuple(each["shape"]), data[slice(*each["data_offsets"])])
        for name, each in header.items()
    }


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    good_draft(tmp_path / "draft")
    good_recipe(tmp_path / "draft")
    return tmp_path / "draft"


def test_tensors_are_compared_across_shards(tmp_path: Path) -> None:
    good_draft(tmp_path / "one")
    sharded_draft(tmp_path / "other")
    one, other = (open_checkpoint(tmp_path / name, name) for name in ("one", "other"))
    assert unchanged_tensors(one, other) == set(draft_tensors())


@pytest.mark.parametrize("at", [0, 1, -1])
def test_one_byte_is_a_difference_wherever_it_is(
    tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "_FIRST", 64)
    monkeypatch.setattr(compare, "_CHUNK", 100)
    for name in ("one", "other"):
        good_draft(tmp_path / name)
    tensors = draft_tensors()
    dtype, shape, data = tensors["fc.weight"]
    changed = bytearray(data)
    changed[at] ^= 1
    save(tmp_path / "other" / WEIGHTS, tensors | {"fc.weight": (dtype, shape, bytes(changed))})
    one, other = (open_checkpoint(tmp_path / name, name) for name in ("one", "other"))
    assert set(tensors) - unchanged_tensors(one, other) == {"fc.weight"}


def test_the_same_bytes_in_another_shape_or_dtype_are_another_tensor(tmp_path: Path) -> None:
    save(tmp_path / "one" / WEIGHTS, {"a": ("BF16", (2, 3), bytes(12)), "b": ("BF16", (2,), bytes(4))})
    save(tmp_path / "other" / WEIGHTS, {"a": ("BF16", (3, 2), bytes(12)), "b": ("F16", (2,), bytes(4))})
    one, other = (open_checkpoint(tmp_path / name, name) for name in ("one", "other"))
    assert unchanged_tensors(one, other) == frozenset()


def test_a_fine_tune_is_told_apart_within_the_first_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good_draft(tmp_path / "one")
    good_draft(tmp_path / "other")
    save(tmp_path / "other" / WEIGHTS, draft_tensors(seed=1))
    one, other = (open_checkpoint(tmp_path / name, name) for name in ("one", "other"))
    read = list[int]()
    original = compare.read_up_to
    monkeypatch.setattr(
        compare, "read_up_to", lambda file, count: (read.append(count), original(file, count))[1]
    )
    assert unchanged_tensors(one, other) == frozenset()
    assert max(read) <= 4096
    assert len(read) == 2 * len(draft_tensors())


def test_a_file_that_shrinks_is_said(tmp_path: Path) -> None:
    for name in ("one", "other"):
        good_draft(tmp_path / name)
    one, other = (open_checkpoint(tmp_path / name, name) for name in ("one", "other"))
    os.truncate(tmp_path / "other" / WEIGHTS, 5000)
    with pytest.raises(UnreadableError, match='of "other" cannot be read any more'):
        unchanged_tensors(one, other)


def test_without_a_base_nothing_is_checked_and_the_exit_does_not_change(draft: Path) -> None:
    report = verified(draft)
    assert report.exit_status == 0
    for code in CODES:
        assert results(report)[code].outcome is Outcome.NOT_CHECKED
        assert results(report)[code].reason == "the recipe names no base draft"


def test_a_frozen_tensor_is_unchecked_at_header_level_and_checked_deep(draft: Path) -> None:
    base(draft, unchanged=["fc.weight"])
    shallow = verified(draft, Level.HEADER)
    assert codes(shallow) == {"R025"}
    assert shallow.exit_status == 0
    assert "--deep" in next(each.hint for each in shallow.findings if each.code == "R025")
    assert codes(verified(draft)) == {"B003"}


def test_a_frozen_tensor_that_the_draft_lacks_is_said(draft: Path) -> None:
    base(draft, unchanged=["embed_tokens.weight"])
    (finding,) = [each for each in verified(draft).findings if each.code == "B003"]
    assert finding.message == 'tensor "embed_tokens.weight" is not in the draft'
    assert finding.related[0].pointer == "/base/unchanged_tensors/0"


def test_the_base_itself_is_one_finding_and_not_25(draft: Path) -> None:
    base(draft, same=list(draft_tensors()), unchanged=["fc.weight"])
    report = verified(draft)
    assert codes(report) == {"B005"}
    (finding,) = [each for each in report.findings if each.code == "B005"]
    assert finding.message == "all 25 tensors are the base draft's, byte for byte"


def test_an_untrained_draft_with_another_map_counts_what_is_the_bases(draft: Path) -> None:
    base(draft, same=list(draft_tensors()), unchanged=["d2t"])
    for folder, first in ((draft, 0), (draft.parent / "base", 1)):
        tensors = load_tensors(folder)
        save(folder / WEIGHTS, tensors | {"d2t": ("I64", (2,), bytes([first, *[0] * 15]))})
    report = verified(draft)
    (finding,) = [each for each in report.findings if each.code == "B005"]
    assert finding.message == "all 25 tensors besides the vocabulary maps are the base draft's, byte for byte"
    assert 'tensor "d2t" differs from the base draft\'s' in {each.message for each in report.findings}


def test_a_base_that_the_user_names_is_compared(draft: Path) -> None:
    base(draft, same=["norm.weight"])
    (draft.parent / "base").rename(draft.parent / "elsewhere")
    assert results(verified(draft))["B004"].outcome is Outcome.NOT_CHECKED
    assert codes(verified(draft, base=str(draft.parent / "elsewhere"))) == {"B004"}


def test_a_base_that_cannot_be_understood_is_not_checked(draft: Path) -> None:
    base(draft)
    (draft.parent / "base" / WEIGHTS).write_bytes(b"not safetensors")
    report = verified(draft)
    assert results(report)["B005"].outcome is Outcome.NOT_CHECKED
    assert "could not be understood" in results(report)["B005"].reason
