"""A trace on disk: what is opened, what is refused, and what a killed recording leaves. No torch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import Ran
from tests.replay import traces
from zoo.drafts import TensorSpec
from zoo.errors import UnreadableError, UsageError
from zoo.replay.trace import DamagedTraceError, check_trace, open_trace
from zoo.replay.writing import check_out, check_room, recording, rehash, write_tensors
from zoo.schemas import validator

Run = Callable[..., Ran]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return traces.write_trace(tmp_path / "small")


def change(folder: Path, **changed: Any) -> None:
    path = folder / "index.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))


def test_a_trace_is_opened_as_it_was_written(trace: Path) -> None:
    opened = open_trace(trace)
    assert (opened.name, opened.domain, opened.layers, opened.has_final) == ("small", "main", (0, 2), True)
    assert [(each.name, each.length, each.prompt_length) for each in opened.conversations] == [
        ("c0", 5, 2),
        ("c1", 3, 2),
    ]
    assert check_trace(opened) == sum(file.stat().st_size for file in trace.rglob("*.safetensors"))
    assert sorted(path.name for path in trace.iterdir()) == ["index.json", "shards", "target.safetensors"]


def test_the_index_follows_its_schema_and_nothing_may_be_added(trace: Path) -> None:
    index = json.loads((trace / "index.json").read_text())
    assert list(validator("trace-1").iter_errors(index)) == []
    for wrong in (
        {**index, "extra": 1},
        {**index, "layers": []},
        {**index, "dtype": "F8_E4M3"},
        {key: value for key, value in index.items() if key != "tokenizer_sha256"},
        {**index, "conversations": [{**index["conversations"][0], "file": "../../etc/passwd"}]},
    ):
        assert list(validator("trace-1").iter_errors(wrong))


def test_two_recordings_of_the_same_have_one_digest(trace: Path, tmp_path: Path) -> None:
    again = traces.write_trace(tmp_path / "again")
    assert open_trace(again).digest == open_trace(trace).digest
    change(again, tokenizer_sha256="1" * 64)
    assert open_trace(again).digest != open_trace(trace).digest


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"schema": "trace/2"}, "schema"),
        ({"layers": [2, 0]}, "rising order"),
        ({"layers": [0, 3]}, "below 3"),
        ({"domain": "agent"}, "main domain"),
        ({"final": "absent"}, "greedy is 1"),
    ],
)
def test_an_index_that_contradicts_itself_is_refused(trace: Path, changed: dict[str, Any], said: str) -> None:
    change(trace, **changed)
    with pytest.raises(UnreadableError, match=said):
        open_trace(trace)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("prompt_length", 5, "no continuation"),
        ("end", 6, "no continuation within its tokens"),
        ("greedy", 4, "greedy is 4 of 3"),
        ("greedy", None, "greedy is None"),
        ("name", "c1", "one name"),
        ("file", "shards/00001.safetensors", "one file"),
    ],
)
def test_an_impossible_conversation_is_refused(trace: Path, key: str, value: Any, said: str) -> None:
    index = json.loads((trace / "index.json").read_text())
    index["conversations"][0][key] = value
    change(trace, **index)
    with pytest.raises(UnreadableError, match=said):
        open_trace(trace)


def test_a_duplicate_key_in_the_index_is_refused(trace: Path) -> None:
    text = (trace / "index.json").read_text()
    (trace / "index.json").write_text(text.replace('"dtype": "BF16"', '"dtype": "F32", "dtype": "BF16"'))
    with pytest.raises(UnreadableError, match="more than once"):
        open_trace(trace)


def test_a_shard_that_is_missing_cut_or_another_is_refused(trace: Path, tmp_path: Path) -> None:
    shard = trace / "shards" / "00000.safetensors"
    kept = shard.read_bytes()
    shard.unlink()
    with pytest.raises(DamagedTraceError, match="missing"):
        open_trace(trace)
    shard.write_bytes(kept[:-1])
    with pytest.raises(DamagedTraceError, match="bytes, not"):
        open_trace(trace)
    shard.write_bytes(kept.replace(b'"states.2"', b'"states.1"'))
    with pytest.raises(DamagedTraceError, match="does not hold"):
        open_trace(trace)
    shard.write_bytes(kept.replace(b"BF16", b"F16 ", 1))
    with pytest.raises(DamagedTraceError):
        open_trace(trace)


def test_a_changed_byte_is_found_by_the_full_check(trace: Path, run_zoo: Run) -> None:
    assert run_zoo("trace", "--check", trace).status == 0
    shard = trace / "shards" / "00001.safetensors"
    kept = bytearray(shard.read_bytes())
    kept[-1] ^= 1
    shard.write_bytes(kept)
    open_trace(trace)  # headers and sizes are those of the index
    ran = run_zoo("trace", "--check", trace)
    assert ran.status == 1
    assert "1 of 3 files differ" in ran.err
    assert "00001.safetensors" in ran.err


def test_the_check_prints_the_index_as_json(trace: Path, run_zoo: Run) -> None:
    ran = run_zoo("trace", "--check", trace, "--format", "json")
    assert json.loads(ran.out) == json.loads((trace / "index.json").read_text())


def test_no_folder_an_empty_one_and_an_unfinished_one_are_told_apart(tmp_path: Path, run_zoo: Run) -> None:
    assert "holds no trace" in run_zoo("trace", "--check", tmp_path / "none").err
    with recording(tmp_path / "small", traces.plan()) as work:
        traces.keep(work, 0)
    ran = run_zoo("trace", "--check", tmp_path / "small")
    assert ran.status == 2
    assert "not finished" in ran.err
    assert "goes on" in ran.err


def stop_after_one(out: Path) -> None:
    with recording(out, traces.plan()) as work:
        traces.keep(work, 0)
        raise KeyboardInterrupt


def test_a_stopped_recording_goes_on_and_ends_as_if_it_had_not_stopped(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        stop_after_one(out)
    (out / "shards" / ".00001.safetensors.part").write_bytes(b"half of a shard")
    with recording(out, traces.plan()) as work:
        assert [work.finished(0), work.finished(1)] == [True, False]
        traces.keep(work, 1)
        work.complete(traces.head(work))
    assert open_trace(out).digest == open_trace(trace).digest
    assert not list(out.rglob("*.part"))


def test_a_recording_that_stops_before_its_first_shard_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), recording(tmp_path / "small", traces.plan()):
        raise KeyboardInterrupt
    assert not (tmp_path / "small").exists()


def test_a_cut_shard_is_recorded_again(tmp_path: Path) -> None:
    with recording(tmp_path / "small", traces.plan()) as work:
        traces.keep(work, 0)
    shard = tmp_path / "small" / "shards" / "00000.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])
    assert rehash(shard) is None
    with recording(tmp_path / "small", traces.plan()) as work:
        assert not work.finished(0)


def test_another_plan_does_not_go_on_with_a_recording(tmp_path: Path) -> None:
    with recording(tmp_path / "small", traces.plan()) as work:
        traces.keep(work, 0)
    with pytest.raises(UsageError, match=r"another recording: dtype differ"):  # noqa: SIM117
        with recording(tmp_path / "small", traces.plan(dtype="F32")):
            raise AssertionError("not reached")


def test_only_one_process_writes_a_recording(tmp_path: Path) -> None:
    with recording(tmp_path / "small", traces.plan()) as work:
        traces.keep(work, 0)
        with (
            pytest.raises(UsageError, match="by another process"),
            recording(tmp_path / "small", traces.plan()),
        ):
            raise AssertionError("not reached")


def test_a_shard_with_too_few_bytes_is_never_named(tmp_path: Path) -> None:
    specs = {"a": TensorSpec("BF16", (2, 2))}
    with pytest.raises(ValueError, match="got 1 bytes and has 8"):
        write_tensors(tmp_path / "a.safetensors", specs, {}, {"a": [b"x"]})
    assert not list(tmp_path.iterdir())


def test_the_size_is_known_beforehand(trace: Path) -> None:
    planned = traces.plan().nbytes
    written = sum(file.stat().st_size for file in (trace / "shards").iterdir())
    headers = sum(each.file.header.data_start for each in open_trace(trace).conversations)
    assert planned == written - headers


def test_a_disk_that_is_too_small_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=99))
    check_room(tmp_path / "small", 99)
    with pytest.raises(UsageError, match=r"needs 100 bytes, and .* has 99 free"):
        check_room(tmp_path / "small", 100)


def test_an_out_folder_that_cannot_be_a_trace_is_refused(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    for out, said in (
        (trace, "finished"),
        (tmp_path / "other", "something else"),
        (tmp_path / "A b", "name"),
    ):
        with pytest.raises(UsageError, match=said):
            check_out(out)
    assert check_out(tmp_path / "new") == "new"
