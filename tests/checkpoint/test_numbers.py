"""What a buffer shows: range, moments, spare bits and checksum, against plain decoding."""

from __future__ import annotations

import math

import numpy as np
import pytest

from zoo.checkpoint.model import TensorInfo
from zoo.checkpoint.numbers import FLOATS, SAMPLED, Float, Gatherer, TensorScan
from zoo.checkpoint.safetensors import DTYPE_BITS

NARROW = [dtype for dtype in FLOATS if DTYPE_BITS[dtype] <= 16]


def gathered(dtype: str, raw: bytes, *, shape: tuple[int, ...] | None = None, chunk: int = 48) -> TensorScan:
    count = len(raw) * 8 // DTYPE_BITS[dtype]
    tensor = TensorInfo("t", dtype, shape or (count,), 0, len(raw))
    gatherer = Gatherer(tensor, "f", stats=True)
    for begin in range(0, len(raw), chunk):
        gatherer.add(memoryview(raw)[begin : begin + chunk])
    return gatherer.result()


def unsigned(dtype: str) -> np.dtype:
    return np.dtype(f"<u{DTYPE_BITS[dtype] // 8}")


def is_nan(form: Float, bits: int) -> bool:
    if form.fnuz:
        return bits == form.sign
    return form.nan is not None and (bits & ~form.sign if form.sign else bits) >= form.nan


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("seed", range(4))
def test_range_and_counts_are_those_of_the_decoded_numbers(dtype: str, seed: int) -> None:
    form, random = FLOATS[dtype], np.random.default_rng(seed)
    limit = 2 ** DTYPE_BITS[dtype] if seed else max(2, form.sign)  # seed 0: no negative number
    bits = random.integers(0, limit, 601).astype(unsigned(dtype))
    numbers = [form.value(int(each)) for each in bits if not is_nan(form, int(each))]
    found = gathered(dtype, bits.tobytes())
    assert (found.low, found.high) == (min(numbers), max(numbers))
    assert found.nan == len(bits) - len(numbers)
    assert found.inf == sum(map(math.isinf, numbers))


@pytest.mark.parametrize("dtype", NARROW)
def test_negative_numbers_alone_have_their_range(dtype: str) -> None:
    form = FLOATS[dtype]
    if not form.sign:
        pytest.skip("a format without a sign")
    bits = np.array([form.sign | 3, form.sign | 9, form.sign | 5], unsigned(dtype))
    found = gathered(dtype, bits.tobytes())
    assert (found.low, found.high) == (form.value(form.sign | 9), form.value(form.sign | 3))


@pytest.mark.parametrize(("dtype", "kind"), [("F16", "<f2"), ("F32", "<f4"), ("F64", "<f8")])
def test_decoding_agrees_with_numpy(dtype: str, kind: str) -> None:
    random = np.random.default_rng(1)
    bits = random.integers(0, 2 ** DTYPE_BITS[dtype], 2000, dtype=unsigned(dtype))
    numbers = bits.view(kind)
    for each, number in zip(bits, numbers, strict=True):
        if not np.isnan(number):
            assert FLOATS[dtype].value(int(each)) == float(number)


@pytest.mark.parametrize("dtype", ["I8", "I64", "U16", "U64", "BOOL"])
def test_integers_have_a_range(dtype: str) -> None:
    kinds = {"I8": "i1", "I64": "<i8", "U16": "<u2", "U64": "<u8", "BOOL": "u1"}
    numbers = np.array([3, 1, 100, 7], kinds[dtype])
    found = gathered(dtype, numbers.tobytes())
    assert (found.low, found.high) == (1, 100)
    assert found.moments is not None
    assert found.moments.mean == pytest.approx(27.75)


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E5M2"])
def test_moments_are_those_of_the_finite_numbers(dtype: str) -> None:
    form, random = FLOATS[dtype], np.random.default_rng(2)
    least = form.bias - 4 << form.mantissa  # numbers around 1, both signs, and some zeros
    bits = random.integers(least, least + (8 << form.mantissa), 500).astype(unsigned(dtype))
    bits[::2] |= unsigned(dtype).type(form.sign)
    bits[::7] = 0
    numbers = np.array([form.value(int(each)) for each in bits])
    bits[3] = 0x7F if form.infinity is None else form.infinity  # NaN or Inf counts for nothing
    numbers = np.delete(numbers, 3)
    found = gathered(dtype, bits.tobytes()).moments
    assert found is not None
    assert found.mean == pytest.approx(numbers.mean(), rel=1e-4, abs=1e-6)
    assert found.std == pytest.approx(numbers.std(), rel=1e-4)
    assert found.zeros == np.count_nonzero(bits == 0) / len(bits)


@pytest.mark.parametrize(
    ("mean", "std"), [(1000.0, 0.01), (60000.0, 1.0), (1.0, 0.001), (0.0, 1e-25), (0.0, 1e-40), (0.1, 0.0)]
)
def test_a_small_spread_around_a_large_mean_is_not_lost(mean: float, std: float) -> None:
    numbers = np.random.default_rng(6).normal(mean, std, 3000).astype("<f4")
    found = gathered("F32", numbers.tobytes(), chunk=4096).moments
    assert found is not None
    exact = numbers.astype("<f8")
    assert found.mean == pytest.approx(exact.mean(), rel=1e-6, abs=1e-45)
    assert found.std == pytest.approx(exact.std(), rel=1e-3, abs=1e-45)


def test_numbers_at_the_end_of_float64_have_no_moments() -> None:
    raw = np.array([1e308, -1e308, 1e300], "<f8").tobytes()
    found = gathered("F64", raw)
    assert found.moments is None
    assert found.high == 1e308


@pytest.mark.parametrize(("spare", "expected"), [(0, 0), (3, 3), (4, 4), (7, 0)])
def test_spare_bits_are_counted(spare: int, expected: int) -> None:
    bits = np.random.default_rng(3).integers(0x3F00, 0x3FFF, 400).astype("<u2") & (0xFFFF << spare & 0xFFFF)
    # With no mantissa bit in use all numbers are powers of two, of which nothing is said.
    assert gathered("BF16", bits.astype("<u2").tobytes()).spare_bits == expected


def test_a_checksum_is_of_the_first_buffer_and_knows_its_odd_tail() -> None:
    one = bytes(range(45))
    sums = {gathered("U8", raw).checksum for raw in (one, one[:-1] + b"\1", one[:-1])}
    assert len(sums) == 3
    assert gathered("U8", one).checksum == gathered("U8", one).checksum


@pytest.mark.parametrize(("make", "kurtosis"), [("normal", 3.0), ("uniform", 1.8)])
def test_a_sample_tells_distributions_apart(make: str, kurtosis: float) -> None:
    random = np.random.default_rng(4)
    draw = random.normal(0, 0.02, SAMPLED) if make == "normal" else random.uniform(-0.1, 0.1, SAMPLED)
    raw = draw.astype("<f4").tobytes()
    found = gathered("F32", raw, shape=(256, SAMPLED // 256), chunk=len(raw)).sample
    assert found is not None
    assert found.kurtosis == pytest.approx(kurtosis, rel=0.03)
    assert found.std == pytest.approx(float(draw.std()), rel=1e-6)


def test_ten_thousand_planted_values_are_all_found() -> None:
    """Every float format, at random places and at every edge of a buffer and the odd last element."""
    random = np.random.default_rng(5)
    missed = dict.fromkeys(FLOATS, 0)
    for dtype, form in FLOATS.items():
        patterns = [form.sign] if form.fnuz else [each for each in (form.nan, form.infinity) if each]
        kind = unsigned(dtype) if dtype != "C64" else np.dtype("<u4")
        per = 64 // kind.itemsize
        for _ in range(1000):
            count = 3 * per + 2 if dtype == "C64" else 3 * per + 1
            finite = min(form.infinity or form.nan or form.sign, 1 << 30)
            bits = random.integers(1, finite, count).astype(kind)
            edge = random.choice([0, per - 1, per, 2 * per - 1, 2 * per, count - 1, random.integers(count)])
            bits[edge] = random.choice(np.array(patterns, dtype="u8")).astype(kind)
            found = gathered(dtype, bits.tobytes(), chunk=64)
            missed[dtype] += found.nan + found.inf != 1
    assert missed == dict.fromkeys(FLOATS, 0)
