"""Vocabulary maps: what is read of them, and what is said of their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_drafts
from tests.corpus.beside import offsets_of
from tests.corpus.families import Draft, eagle3, write
from tests.corpus.kit import Tensor, good_draft, save
from zoo.checkpoint import maps as reader
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.maps import VocabularyMaps, is_map, read_maps
from zoo.checkpoint.model import Checkpoint
from zoo.recipe.load import usable_recipe
from zoo.results import Outcome
from zoo.rules import RULES, Level, Subject, run
from zoo.standin import Fill, write_standin
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

CODES = [f"D01{number}" for number in range(8)]


def opened(folder: Path, tensors: dict[str, Tensor], **config: Any) -> Checkpoint:
    folder.mkdir(exist_ok=True)
    good_draft(folder, **config)
    save(folder / "model.safetensors", tensors)
    return open_checkpoint(folder, "draft")


def values(folder: Path, d2t: bytes | None, t2d: bytes | None, **config: Any) -> VocabularyMaps | None:
    tensors: dict[str, Tensor] = {"norm.weight": ("BF16", (1,), bytes(2))}
    if d2t is not None:
        tensors["d2t"] = ("I64", (len(d2t) // 8,), d2t)
    if t2d is not None:
        tensors["t2d"] = ("BOOL", (len(t2d),), t2d)
    return read_maps(opened(folder, tensors, **config))[0]


def found(folder: Path, d2t: bytes | None, t2d: bytes | None, **config: Any) -> list[str]:
    """The codes of this group, for a file that holds only these maps."""
    held = values(folder, d2t, t2d, **config)
    checkpoint = open_checkpoint(folder, "draft")
    subject = Subject(recipe=None, checkpoint=checkpoint, maps=held)
    return [code for code in CODES[:7] if list(RULES[code].check(subject))]


def test_values_are_read_from_any_shard_and_under_a_prefix(tmp_path: Path) -> None:
    good_draft(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    save(
        tmp_path / "a.safetensors", {"pad": ("U8", (8,), b"\xff" * 8), "draft.t2d": ("BOOL", (3,), b"\0\1\1")}
    )
    save(tmp_path / "b.safetensors", {"draft.d2t": ("I64", (2,), offsets_of([1, 2]))})
    held, reason = read_maps(open_checkpoint(tmp_path, "draft"))
    assert reason == ""
    assert held == VocabularyMaps((1, 1), b"\0\1\1", "draft.d2t", "draft.t2d", 3)
    assert held is not None
    assert (held.ids, held.used) == ((1, 2), (1, 2))


def test_a_map_in_32_bits_is_read(tmp_path: Path) -> None:
    tensors = {"d2t": ("I32", (2,), b"\x00\x00\x00\x00\xff\xff\xff\xff")}
    held, _ = read_maps(opened(tmp_path / "draft", tensors))
    assert held is not None
    assert held.offsets == (0, -1)


@pytest.mark.parametrize(
    ("tensors", "said"),
    [
        ({"d2t": ("F32", (2,), bytes(8))}, '"d2t" is F32 [2]'),
        ({"d2t": ("I64", (1, 2), bytes(16))}, '"d2t" is I64 [1x2]'),
        ({"t2d": ("I64", (2,), bytes(16))}, '"t2d" is I64 [2]'),
    ],
)
def test_what_is_no_map_is_not_checked(tmp_path: Path, tensors: dict[str, Tensor], said: str) -> None:
    held, reason = read_maps(opened(tmp_path / "draft", tensors))
    assert held is None
    assert said in reason


def test_a_map_without_a_vocabulary_is_not_checked(tmp_path: Path) -> None:
    tensors: dict[str, Tensor] = {"d2t": ("I64", (2,), bytes(16))}
    checkpoint = replace(opened(tmp_path / "draft", tensors), config={})
    assert read_maps(checkpoint) == (
        None,
        "config.json states no vocab_size, so that the vocabulary map cannot be judged",
    )
    nested = {"transformer_layer_config": {"vocab_size": 7}}
    held, _ = read_maps(replace(checkpoint, config=nested))
    assert held is not None
    assert held.vocabulary == 7


def test_a_map_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "draft", eagle3())
    monkeypatch.setattr(reader, "BYTE_LIMIT", 1000)
    report = verify_source(str(tmp_path / "draft")).report
    reasons = {result.reason for result in report.not_checked if result.code == "D010"}
    assert reasons == {"the vocabulary maps have 1,280 bytes, more than the 1,000 that are read"}
    assert report.exit_status == 2


def test_a_file_that_was_cut_off_after_its_header_was_read_is_not_checked(tmp_path: Path) -> None:
    write(tmp_path / "draft", eagle3())
    checkpoint = open_checkpoint(tmp_path / "draft", "draft")
    path = tmp_path / "draft" / "model.safetensors"
    path.write_bytes(path.read_bytes()[: checkpoint.data_start["d2t"] + 5])
    held, reason = read_maps(checkpoint)
    assert held is None
    assert reason.startswith("the vocabulary maps cannot be read")


def test_nothing_is_opened_for_a_draft_without_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good_draft(tmp_path)
    checkpoint = open_checkpoint(tmp_path, "draft")

    def refuse(path: Path) -> None:
        raise AssertionError(path)

    monkeypatch.setattr(reader, "open_regular", refuse)
    assert read_maps(checkpoint) == (VocabularyMaps(vocabulary=256), "")


def test_only_the_bytes_of_the_maps_are_read_of_a_draft_that_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, eagle3())
    checkpoint, read = open_checkpoint(tmp_path, "draft"), list[int]()
    original = reader.read_up_to
    monkeypatch.setattr(
        reader, "read_up_to", lambda file, count: (read.append(count), original(file, count))[1]
    )
    assert read_maps(checkpoint)[0] is not None
    assert sorted(read) == [256, 8 * 128]


def test_rules_about_maps_pass_where_there_are_none(tmp_path: Path) -> None:
    good_draft(tmp_path)
    results = {result.code: result for result in verify_source(str(tmp_path)).report.results}
    assert {results[code].outcome for code in CODES[:7]} == {Outcome.PASSED}
    assert results["D017"].outcome is Outcome.PASSED
    write(tmp_path / "eagle3", eagle3())
    results = {result.code: result for result in verify_source(f"{tmp_path}/eagle3").report.results}
    assert results["D017"].outcome is Outcome.NOT_CHECKED
    assert not results["D017"].required


def used(ids: Sequence[int], vocabulary: int = 256) -> bytes:
    return bytes(token in set(ids) for token in range(vocabulary))


HALVES = [*range(64), *range(192, 256)]


@pytest.mark.parametrize(
    ("d2t", "t2d", "codes"),
    [
        (offsets_of(HALVES), used(HALVES), []),
        (offsets_of(HALVES), None, []),
        (None, used(HALVES), []),
        (bytes(8 * 256), used(range(256)), []),  # every token
        (bytes(8 * 128), used(HALVES), ["D010"]),
        (bytes(8 * 128), None, ["D010"]),
        (bytes(8 * 128), b"\1" * 256, ["D010"]),  # both buffers as they were made
        (offsets_of(range(100, 228)), None, ["D010"]),
        (offsets_of(range(0, 256, 2)), used(range(0, 256, 2)), []),
        (offsets_of([*HALVES[:9], 3, *HALVES[10:]]), used(HALVES), ["D011"]),
        (offsets_of(HALVES[::-1]), used(HALVES), ["D011"]),
        (offsets_of([*HALVES[:-1], 256]), None, ["D012"]),
        (offsets_of(range(200, 328)), None, ["D012"]),  # a slice beyond the end
        (b"".join(token.to_bytes(8, "little") for token in HALVES), used(HALVES), ["D013"]),
        (b"".join(token.to_bytes(8, "little") for token in HALVES), None, ["D013"]),
        # As SpecForge would have it if nobody sorted: ids in another order are ids all the same.
        (b"".join(token.to_bytes(8, "little") for token in HALVES[::-1]), used(HALVES), ["D013"]),
        (offsets_of(HALVES), used(HALVES).replace(b"\1", b"\2"), ["D014"]),
        (None, used(HALVES).replace(b"\1", b"\xff"), ["D014"]),
        (offsets_of(HALVES), used(HALVES[1:]), ["D015"]),
        (offsets_of(HALVES), b"\1" * 256, ["D015"]),
        (None, used(HALVES[1:]), ["D015"]),
        (offsets_of(HALVES), used([*HALVES[:-1], 100]), ["D016"]),
    ],
)
def test_each_map_gets_one_verdict(
    tmp_path: Path, d2t: bytes | None, t2d: bytes | None, codes: list[str]
) -> None:
    assert found(tmp_path / "draft", d2t, t2d, draft_vocab_size=128) == codes


def test_a_few_offsets_that_increase_are_not_taken_for_ids(tmp_path: Path) -> None:
    ids = [0, 3, 9, 200]
    assert found(tmp_path / "draft", offsets_of(ids), None, draft_vocab_size=4) == []


def test_the_message_shows_the_first_tokens_that_are_wrong(tmp_path: Path) -> None:
    draft = eagle3()
    ids = [*HALVES[:9], 3, *HALVES[10:]]
    draft.tensors["d2t"] = ("I64", (128,), offsets_of(ids))
    write(tmp_path, draft)
    (finding,) = [each for each in verify_source(str(tmp_path)).report.findings if each.code == "D011"]
    said = '"d2t" names target tokens twice: draft token 8 is target token 8, draft token 9 is 3'
    assert finding.message == said
    assert finding.where.tensor == "d2t"
    assert finding.where.file == "model.safetensors"


def test_a_prefixed_map_is_judged_where_nobody_inventoried_the_rest(tmp_path: Path) -> None:
    draft = eagle3()
    draft.config["architectures"] = ["Eagle3DeepseekV2ForCausalLM"]
    tensors = {f"model.{name}": tensor for name, tensor in draft.tensors.items()}
    tensors["model.d2t"] = ("I64", (128,), bytes(8 * 128))
    write(tmp_path, Draft("eagle3", draft.config, tensors))
    assert "D010" in {finding.code for finding in verify_source(str(tmp_path)).report.findings}


def test_a_base_without_maps_is_not_compared(tmp_path: Path) -> None:
    held = values(tmp_path / "draft", offsets_of(HALVES), used(HALVES))
    checkpoint = open_checkpoint(tmp_path / "draft", "draft")
    subject = Subject(recipe=None, checkpoint=checkpoint, maps=held, base_maps=VocabularyMaps())
    assert list(RULES["D017"].check(subject)) == []
    other = VocabularyMaps((0,) * 128, used(HALVES), "d2t", "t2d", 256)
    (finding,) = RULES["D017"].check(replace(subject, base_maps=other))
    assert finding.message == '"d2t" is not the base draft\'s'


def test_names_of_maps() -> None:
    assert [name for name in ("d2t", "model.t2d", "d2t.weight", "xd2t", "fc.weight") if is_map(name)] == [
        "d2t",
        "model.t2d",
    ]


def test_zero_offsets_of_a_whole_vocabulary_are_no_untrained_tensor(tmp_path: Path) -> None:
    write(tmp_path, eagle3(256))
    report = verify_source(str(tmp_path), level=Level.DEEP).report
    assert {finding.code for finding in report.findings} == set()


@pytest.mark.parametrize("fill", list(Fill))
def test_a_stand_in_has_maps_that_fit(tmp_path: Path, fill: Fill) -> None:
    tiny_drafts.write_tiny(tmp_path / "draft", "eagle3")
    tiny_drafts.recipe_of(tmp_path / "draft", tmp_path / "zoo", "mine")
    zoo = find_zoo(tmp_path / "zoo")
    write_standin(usable_recipe(zoo, "mine"), tmp_path / "standin", fill)
    held, _ = read_maps(open_checkpoint(tmp_path / "standin", "standin"))
    assert held is not None
    assert held.ids == held.used == (*range(64), *range(192, 256))
    report = verify_recipe(zoo, "mine", checkpoint=f"{tmp_path}/standin").report
    assert not {finding.code for finding in report.findings} & {*CODES, "I001", "I003", "I004"}


def test_maps_of_a_file_that_was_not_understood_are_not_checked(tmp_path: Path) -> None:
    write(tmp_path, eagle3())
    (tmp_path / "model.safetensors").write_bytes(b"{}")
    results = {result.code: result for result in verify_source(str(tmp_path)).report.results}
    assert results["D010"].outcome is Outcome.NOT_CHECKED


def test_the_rules_run_in_the_order_of_their_codes() -> None:
    results = run(Subject(None, None), Level.HEADER)
    assert [result.code for result in results if result.code in CODES] == CODES
