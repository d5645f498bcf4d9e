"""How the numbers changed: against plain float64 arithmetic, for every dtype."""

from __future__ import annotations

import json
import math
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Ran
from tests.corpus.kit import WEIGHTS, Tensor, bf16, draft_tensors, good_draft, save, shard
from tests.remote.hub import REPO, Reply, Server, ranged
from zoo.checkpoint.folder import open_checkpoint
from zoo.checkpoint.safetensors import DTYPE_BITS
from zoo.diff import numbers as module
from zoo.diff.compare import paired
from zoo.diff.decode import decoder
from zoo.diff.model import Numbers, TensorChange
from zoo.diff.numbers import compare_numbers
from zoo.diff.sides import open_side
from zoo.errors import UnreadableError
from zoo.remote.address import Remote
from zoo.sources import Sources

Run = Callable[..., Ran]


def compared(a: Path, b: Path) -> Numbers:
    with Sources(Remote()) as sources:
        one, two = (open_side(f"{folder}/", _no_zoo, sources) for folder in (a, b))
        assert one.checkpoint is not None
        assert two.checkpoint is not None
        return compare_numbers(one.checkpoint, two.checkpoint, paired(one, two).pairs)


def _no_zoo() -> Any:
    raise AssertionError("folders need no zoo")


@pytest.fixture
def change_of(tmp_path: Path) -> Callable[[Tensor, Tensor], TensorChange]:
    """The change of one tensor between two files that hold nothing else."""

    def change(a: Tensor, b: Tensor) -> TensorChange:
        for name, tensor in (("a", a), ("b", b)):
            save(tmp_path / name / WEIGHTS, {"t": tensor})
        (found,) = compared(tmp_path / "a", tmp_path / "b").tensors
        return found

    return change


Change = Callable[[Tensor, Tensor], TensorChange]


def f32(*values: float) -> Tensor:
    return ("F32", (len(values),), struct.pack(f"<{len(values)}f", *values))


def of(dtype: str, *raw: int) -> Tensor:
    return (dtype, (len(raw) * 8 // DTYPE_BITS[dtype],), bytes(raw))


@pytest.mark.parametrize(
    ("dtype", "raw", "value"),
    [
        ("F8_E4M3", 0x38, 1.0),
        ("F8_E4M3", 0x7E, 448.0),
        ("F8_E4M3", 0x81, -(2.0**-9)),
        ("F8_E5M2", 0x3C, 1.0),
        ("F8_E5M2", 0x7B, 57344.0),
        ("F8_E5M2", 0xFC, -math.inf),
        ("F8_E4M3FNUZ", 0x40, 1.0),
        ("F8_E4M3FNUZ", 0x7F, 240.0),
        ("F8_E5M2FNUZ", 0x7F, 57344.0),
        ("F8_E8M0", 127, 1.0),
        ("F8_E8M0", 0, 2.0**-127),
        ("F8_E4M3", 0x7F, math.nan),
        ("F8_E4M3FNUZ", 0x80, math.nan),
        ("F8_E8M0", 0xFF, math.nan),
        ("F8_E5M2", 0x7D, math.nan),
        ("BOOL", 1, 1.0),
        ("I8", 0x80, -128.0),
        ("U8", 0x80, 128.0),
    ],
)
def test_bytes_are_the_numbers_of_their_format(dtype: str, raw: int, value: float) -> None:
    decode = decoder(dtype)
    assert decode is not None
    assert np.array_equal(decode(memoryview(bytes([raw]))), [value], equal_nan=True)


def test_f4_has_two_elements_in_a_byte_the_first_in_the_low_half() -> None:
    decode = decoder("F4")
    assert decode is not None
    assert decode(memoryview(bytes([0x10, 0x32, 0x54, 0x76, 0xFA]))).tolist() == [
        0,
        0.5,
        1,
        1.5,
        2,
        3,
        4,
        6,
        -1,
        -6,
    ]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("F8_E4M3", "float8_e4m3fn"),
        ("F8_E5M2", "float8_e5m2"),
        ("F8_E4M3FNUZ", "float8_e4m3fnuz"),
        ("F8_E5M2FNUZ", "float8_e5m2fnuz"),
        ("F8_E8M0", "float8_e8m0fnu"),
        ("BF16", "bfloat16"),
        ("F16", "float16"),
    ],
)
def test_all_numbers_are_those_of_torch(dtype: str, name: str) -> None:
    import torch

    bits = np.arange(2 ** DTYPE_BITS[dtype], dtype=f"<u{DTYPE_BITS[dtype] // 8}")
    decode = decoder(dtype)
    assert decode is not None
    with np.errstate(invalid="ignore"):  # signalling NaN
        ours = decode(memoryview(bits.tobytes()))
    theirs = torch.from_numpy(bits.view(f"<i{bits.itemsize}").copy()).view(getattr(torch, name)).double()
    assert np.array_equal(ours, theirs.numpy(), equal_nan=True)


@pytest.mark.parametrize("block", [2, 64, 2**16])
def test_the_change_is_that_of_plain_arithmetic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    random = np.random.default_rng(7)
    a = random.normal(0, 0.02, (33, 31)).astype("<f4")
    b = a + random.normal(0, 0.001, a.shape).astype("<f4")
    flat = {"same": ("F32", a.shape, a.tobytes())}
    save(tmp_path / "a" / WEIGHTS, {"t": ("F32", a.shape, a.tobytes()), **flat})
    save(tmp_path / "b" / WEIGHTS, {**flat, "t": ("F32", b.shape, b.tobytes())})
    found = compared(tmp_path / "a", tmp_path / "b")
    x, y = a.astype("f8"), b.astype("f8")
    (changed,) = found.changed
    assert changed.relative == pytest.approx(np.linalg.norm(x - y) / np.linalg.norm(x), rel=1e-12)
    assert changed.largest == np.abs(x - y).max()
    assert changed.changed == np.count_nonzero(x != y)
    both = np.linalg.norm(x - y) / np.linalg.norm(np.concatenate([x, x]))
    assert found.relative == pytest.approx(both, rel=1e-12)
    assert [each.name_a for each in found.unchanged] == ["same"]


def test_other_dtypes_are_compared_by_their_values(change_of: Change) -> None:
    values = np.array([1.0, -2.5, 0.1, 300.0])
    cut = ("BF16", (4,), bf16(values))
    found = change_of(f32(*values), cut)
    exact = values.astype("<f4").astype("f8")
    stored = (np.frombuffer(cut[2], "<u2").astype("<u4") << 16).view("<f4").astype("f8")
    assert found.relative == pytest.approx(np.linalg.norm(exact - stored) / np.linalg.norm(exact))
    assert (found.identical, found.changed) == (False, 1)
    assert change_of(f32(1.0, 2.0), ("BF16", (2,), bf16(np.array([1.0, 2.0])))).changed == 0
    assert change_of(of("F8_E4M3", 0x38, 0x40), f32(1.0, 2.0)).relative == 0.0
    assert change_of(of("F4", 0x42), f32(1.0, 2.0)).relative == 0.0


@pytest.mark.parametrize("dtype", sorted(DTYPE_BITS))
def test_every_dtype_is_compared_byte_for_byte(change_of: Change, dtype: str) -> None:
    raw = bytes([1, 0] * 24)
    assert change_of(of(dtype, *raw), of(dtype, *raw)).identical
    found = change_of(of(dtype, *raw), of(dtype, *raw[:-2], 0, 1))
    assert not found.identical
    assert found.compared is not dtype.startswith("F6_")


def test_nan_and_inf_are_counted_and_left_out(change_of: Change) -> None:
    nan, inf = math.nan, math.inf
    found = change_of(f32(3.0, nan, inf, 4.0, inf), f32(3.0, nan, inf, 4.5, -inf))
    assert found.not_finite == 3
    assert found.changed == 2  # 4.0, and the sign of Inf; NaN stays NaN
    assert found.relative == pytest.approx(0.1)
    same = change_of(f32(3.0, nan), f32(3.0, nan))
    assert (same.identical, same.relative, same.not_finite) == (True, 0.0, 1)


def test_minus_zero_is_other_bytes_and_the_same_value(change_of: Change) -> None:
    found = change_of(f32(0.0, 1.0), f32(-0.0, 1.0))
    assert (found.identical, found.changed, found.relative) == (False, 0, 0.0)


def test_a_change_from_all_zeros_has_no_ratio(change_of: Change) -> None:
    found = change_of(f32(0.0, 0.0), f32(1.0, 0.0))
    assert (found.relative, found.largest, found.changed) == (None, 1.0, 1)


def test_an_overflow_is_no_number(change_of: Change) -> None:
    huge = ("F64", (1,), struct.pack("<d", 1e308))
    assert change_of(huge, ("F64", (1,), struct.pack("<d", -1e308))).relative is None


@pytest.mark.parametrize(
    ("a", "b", "changed", "largest"),
    [
        (("I64", 2**62, 1), ("I64", 2**62 + 1, 1), 1, 1.0),
        (("U64", 2**64 - 1, 1), ("U64", 2**64 - 2, 1), 1, 1.0),
        (("I64", -(2**63), 1), ("I64", 2**63 - 1, 1), 1, 2.0**64),
        (("I64", -1, 1), ("U64", 2**64 - 1, 1), 1, 2.0**64),
        (("I64", 2**62 + 1, 1), ("U64", 2**62, 1), 1, 1.0),
        (("I64", 2**62 + 1, 1), ("U64", 2**62 + 1, 1), 0, 0.0),
        (("U8", 255, 1), ("I8", -1, 1), 1, 256.0),
    ],
)
def test_integers_are_compared_exactly(
    change_of: Change, a: tuple[str, int, int], b: tuple[str, int, int], changed: int, largest: float
) -> None:
    codes = {"I64": "q", "U64": "Q", "U8": "B", "I8": "b"}
    one, two = ((dtype, (2,), struct.pack(f"<2{codes[dtype]}", *values)) for dtype, *values in (a, b))
    found = change_of(one, two)
    assert (found.identical, found.changed, found.largest) == (False, changed, largest)
    assert found.relative is None


def test_maps_of_token_ids_are_no_part_of_the_change_as_a_whole(tmp_path: Path) -> None:
    for name, first in (("a", 0), ("b", 10**6)):
        ids = ("I64", (2,), struct.pack("<2q", first, 1))
        save(tmp_path / name / WEIGHTS, {"d2t": ids, "t": f32(1.0, 2.0)})
    found = compared(tmp_path / "a", tmp_path / "b")
    assert found.relative == 0.0
    (changed,) = found.changed
    assert (changed.name_a, changed.relative, changed.largest) == ("d2t", None, 1e6)


def test_shards_and_another_order_make_no_difference(tmp_path: Path) -> None:
    good_draft(tmp_path / "a")
    good_draft(tmp_path / "b")
    shard(tmp_path / "b", dict(reversed(draft_tensors().items())), 3)
    found = compared(tmp_path / "a", tmp_path / "b")
    assert len(found.unchanged) == 25


def test_memory_stays_flat(tmp_path: Path) -> None:
    for name, fill in (("a", b"\x00\x3f"), ("b", b"\x10\x3f")):
        save(tmp_path / name / WEIGHTS, {"t": ("BF16", (16, 2**20), fill * 2**24)})
    tracemalloc.start()
    (found,) = compared(tmp_path / "a", tmp_path / "b").tensors
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.changed == 2**24
    assert peak < 16_000_000


def test_a_file_that_changes_meanwhile_is_no_result(tmp_path: Path) -> None:
    for name in ("a", "b"):
        good_draft(tmp_path / name)
    one, two = (open_checkpoint(tmp_path / name, name) for name in ("a", "b"))
    with Sources() as sources:
        sides = [open_side(f"{tmp_path / name}/", _no_zoo, sources) for name in ("a", "b")]
    pairs = paired(*sides).pairs

    def write(_: int) -> None:
        good_draft(tmp_path / "b")

    with pytest.raises(UnreadableError, match="changed while it was read"):
        compare_numbers(one, two, pairs, write)
    save(tmp_path / "a" / WEIGHTS, dict(reversed(draft_tensors().items())), {"format": "pt"})
    with pytest.raises(UnreadableError, match="changed while it was read"):
        compare_numbers(one, two, pairs)


def test_a_repository_is_streamed(
    hub: Server, storage: Server, draft: Path, tmp_path: Path, run_zoo: Run
) -> None:
    good_draft(tmp_path / "tuned")
    tensors = draft_tensors()
    tensors["norm.weight"] = draft_tensors(seed=1)["norm.weight"]
    save(tmp_path / "tuned" / WEIGHTS, tensors, {"format": "pt"})
    ran = run_zoo(
        "diff", f"hf://{REPO}@v1.0.0", tmp_path / "tuned", "--deep", "--endpoint", hub.url, "--format", "json"
    )
    assert ran.status == 1
    found = json.loads(ran.out)["numbers"]
    assert [each["name_a"] for each in found["tensors"] if not each["identical"]] == ["norm.weight"]
    assert len(found["unchanged"]) == 24
    ran = run_zoo("diff", f"hf://{REPO}@v1.0.0", draft, "--deep", "--endpoint", hub.url)
    assert ran.status == 0, ran.out


def test_a_repository_whose_connection_breaks_is_exit_2(
    hub: Server, storage: Server, draft: Path, run_zoo: Run
) -> None:
    def cut(seen: Any) -> Reply | None:
        if seen.range and seen.range[1] > 110_000:
            return Reply(206, ranged(seen, draft / WEIGHTS).headers, b"", cut=0)
        return None

    storage.fault = cut
    source = f"hf://{REPO}@v1.0.0"
    ran = run_zoo("diff", source, draft, "--deep", "--endpoint", hub.url, "--timeout", "1")
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 2
