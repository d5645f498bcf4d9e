"""What the numbers of a tensor show, from its raw bytes, for every dtype that safetensors has.

numpy has no type for most floats of a checkpoint, and needs none: without its sign, the bits of a float are
an unsigned integer that grows with the magnitude. So the largest of the bits as *unsigned* integers is the
most negative number, the largest as *signed* integers the greatest, and NaN and Inf stand above every finite
number. Two reductions over a buffer that lies in the cache of a core say all of it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zoo.checkpoint.model import TensorInfo
from zoo.checkpoint.safetensors import DTYPE_BITS

if TYPE_CHECKING:
    import numpy

    Numbers = numpy.ndarray[Any, numpy.dtype[Any]]

SAMPLED = 2**16  # elements; a smaller matrix says too little about how it was made
_BLOCK = 2**16  # elements that are widened at a time, to stay in the cache of a core
_WRAP = 2**64


@dataclass(frozen=True, slots=True)
class Float:
    """One float format. ``exponent`` and ``mantissa`` count bits, below a sign bit unless ``unsigned``. Of
    the bits without the sign, ``infinity`` is Inf, and ``nan`` and everything above it NaN. ``fnuz``: the
    pattern of -0 is the only NaN."""

    exponent: int
    mantissa: int
    infinity: int | None
    nan: int | None
    bias: int
    unsigned: bool = False
    fnuz: bool = False

    @property
    def sign(self) -> int:
        """The sign bit, 0 if there is none."""
        return 0 if self.unsigned else 1 << (self.exponent + self.mantissa)

    def value(self, bits: int) -> float:
        """The number that ``bits`` stand for. NaN is not asked for."""
        magnitude = bits & ~self.sign if self.sign else bits
        if magnitude == self.infinity:
            return math.copysign(math.inf, -1.0 if bits & self.sign else 1.0)
        power, fraction = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        if self.unsigned:
            return math.ldexp(1.0, power - self.bias)
        if power:
            fraction += 1 << self.mantissa
        size = math.ldexp(fraction, max(power, 1) - self.bias - self.mantissa)
        return -size if bits & self.sign else size


# IEEE 754 for the wide ones; for 8 bits: OCP OFP8 (E4M3 without Inf, E5M2), FNUZ as in arXiv:2206.02915, OCP
# MX for E8M0 (a bare exponent: no sign, no zero). F4 and F6 have neither NaN nor Inf and are not looked into.
_SINGLE = Float(8, 23, 0x7F800000, 0x7F800001, 127)
FLOATS: Mapping[str, Float] = {
    "BF16": Float(8, 7, 0x7F80, 0x7F81, 127),
    "F16": Float(5, 10, 0x7C00, 0x7C01, 15),
    "F32": _SINGLE,
    "C64": _SINGLE,
    "F64": Float(11, 52, 0x7FF << 52, (0x7FF << 52) + 1, 1023),
    "F8_E5M2": Float(5, 2, 0x7C, 0x7D, 15),
    "F8_E4M3": Float(4, 3, None, 0x7F, 7),
    "F8_E5M2FNUZ": Float(5, 2, None, None, 16, fnuz=True),
    "F8_E4M3FNUZ": Float(4, 3, None, None, 8, fnuz=True),
    "F8_E8M0": Float(8, 0, None, 0xFF, 127, unsigned=True),
}
_INTEGERS = {
    "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "BOOL": "u1",
    "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moments:
    """What ``--stats`` adds: mean and standard deviation of the finite numbers (float64 from sums per
    buffer), and the fraction of all elements that is zero."""

    mean: float
    std: float
    zeros: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The first :data:`SAMPLED` numbers of a matrix: mean, standard deviation, and kurtosis (3 for a normal
    distribution, 1.8 for a uniform one)."""

    mean: float
    std: float
    kurtosis: float


@dataclass(frozen=True, slots=True)
class TensorScan:
    """What the numbers of one tensor show. ``nan`` and ``inf`` count elements (for complex, parts of
    elements); ``low`` and ``high`` are the least and the greatest number that is not NaN, None if there is
    none or the dtype has less than a byte.

    ``zero``: every element is 0. ``constant``: every element has the same bits (F4 and F6: every byte).
    Both are False for a tensor without elements. ``checksum``, of the first buffer, is equal for equal
    bytes. ``spare_bits`` is how
    many of the lowest mantissa bits are 0 in every number (bf16 and wider floats). ``sample`` is there for a
    finite matrix that is large enough.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    nan: int
    inf: int
    low: float | None
    high: float | None
    zero: bool
    constant: bool
    checksum: int
    spare_bits: int = 0
    sample: Sample | None = None
    moments: Moments | None = None


class Gatherer:
    """What is known of a tensor after each of its buffers. A buffer holds whole elements."""

    def __init__(self, tensor: TensorInfo, file: str, *, stats: bool = False) -> None:
        # Its threads would wait for the cores that hash.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        import numpy as np

        bits = DTYPE_BITS[tensor.dtype]
        width = max(bits, 8) // 8
        self._np, self._tensor, self._file = np, tensor, file
        self._float = FLOATS.get(tensor.dtype)
        self._element = width
        if tensor.dtype == "C64":  # an element is two floats
            width = 4
        self._unsigned, self._signed = np.dtype(f"<u{width}"), np.dtype(f"<i{width}")
        self._integer = np.dtype(_INTEGERS[tensor.dtype]) if tensor.dtype in _INTEGERS else None
        self._nan = self._inf = 0
        self._checksum: int | None = None
        self._low: float | None = None
        self._high: float | None = None
        self._first: bytes | None = None
        self._constant = self._bytes_zero = tensor.nbytes > 0
        # Bits of the mantissa that some number uses; all of them after a few random numbers.
        self._mantissa = 0 if self._float is None or width == 1 else (1 << self._float.mantissa) - 1
        self._used = 0
        self._sample: Sample | None = None
        self._sums = _Sums(np, tensor.dtype) if stats and (self._float or self._integer is not None) else None

    def add(self, chunk: memoryview) -> None:
        """Look at the next bytes of the tensor."""
        if len(chunk) % self._element:
            return  # the file is being cut off while it is read, which the caller notices
        if self._checksum is None:
            self._checksum = self._sum(chunk)
        parts = self._np.frombuffer(chunk, self._unsigned)
        if self._constant:
            self._compare(chunk, parts)
        if self._float is not None:
            if not self._used & 1:
                self._used |= int(self._np.bitwise_or.reduce(parts)) & self._mantissa
            if self._low is None and self._high is None and len(self._tensor.shape) > 1:
                self._sample = self._sampled(parts)
            self._floats(parts, self._float)
        elif self._integer is not None:
            numbers = parts.view(self._integer)
            self._range(int(numbers.min()), int(numbers.max()))
        else:
            self._bytes_zero = self._bytes_zero and not parts.any()
        if self._sums is not None:
            self._sums.add(parts)

    def result(self) -> TensorScan:
        tensor = self._tensor
        if self._float is not None or self._integer is not None:
            zero = self._low == self._high == 0 and not self._nan
        else:
            zero = self._bytes_zero
        moments = None if self._sums is None else self._sums.result(self._nan + self._inf)
        return TensorScan(
            tensor.name, self._file, tensor.dtype, tensor.shape, self._nan, self._inf, self._low, self._high,
            zero, self._constant, self._checksum or 0, self._spare_bits(), self._sample, moments,
        )  # fmt: skip

    def _spare_bits(self) -> int:
        if not self._mantissa or self._float is None or not self._used:
            return 0  # powers of two and zeros: nothing can be said
        return (self._used & -self._used).bit_length() - 1

    def _sampled(self, parts: Numbers) -> Sample | None:
        """The moments of the beginning of the tensor."""
        if len(parts) < SAMPLED:
            return None
        numbers = _Sums(self._np, self._tensor.dtype).numbers(parts[:SAMPLED]).astype("<f8")
        mean = float(numbers.mean())
        centred = numbers - mean
        squares = centred * centred
        variance = float(squares.sum()) / SAMPLED
        if not math.isfinite(variance) or variance <= 0:
            return None
        fourth = float((squares * squares).sum()) / SAMPLED
        return Sample(mean, math.sqrt(variance), fourth / (variance * variance))

    def _sum(self, chunk: memoryview) -> int:
        whole = len(chunk) // 8 * 8
        total = int(self._np.add.reduce(self._np.frombuffer(chunk[:whole], "<u8"))) if whole else 0
        return (total + int.from_bytes(chunk[whole:], "little")) % _WRAP

    def _compare(self, chunk: memoryview, parts: Numbers) -> None:
        """Whether all elements are the first one. Random numbers fail on the first comparison."""
        if self._first is None:
            self._first = bytes(chunk[: self._element])
        first = self._np.frombuffer(self._first, self._unsigned)
        beginning = parts[: 2 * len(first)].reshape(-1, len(first))
        if not (beginning == first).all() or not (parts.reshape(-1, len(first)) == first).all():
            self._constant = False

    def _floats(self, parts: Numbers, form: Float) -> None:
        """Count NaN and Inf, and widen the range."""
        if not len(parts):
            return
        largest = int(parts.max())
        greatest = int(parts.view(self._signed).max())
        if form.fnuz:
            suspect = int(parts.view(self._signed).min()) == -form.sign
        else:
            reached = max(largest ^ form.sign if largest & form.sign else 0, greatest if greatest > 0 else 0)
            if form.unsigned:
                reached = largest
            suspect = any(limit is not None and reached >= limit for limit in (form.nan, form.infinity))
        if suspect:
            kept = self._without_nan(parts, form)
            if len(kept) != len(parts):
                if len(kept):
                    self._bounds(kept, int(kept.max()), int(kept.view(self._signed).max()), form)
                return
        self._bounds(parts, largest, greatest, form)

    def _without_nan(self, parts: Numbers, form: Float) -> Numbers:
        if form.fnuz:
            wrong = parts == form.sign
        else:
            magnitudes = parts & self._unsigned.type(~form.sign & ((1 << 8 * self._unsigned.itemsize) - 1))
            wrong = magnitudes >= form.nan
            if form.infinity is not None:
                self._inf += int(self._np.count_nonzero(magnitudes == form.infinity))
        found = int(self._np.count_nonzero(wrong))
        self._nan += found
        return parts[~wrong] if found else parts

    def _bounds(self, parts: Numbers, largest: int, greatest: int, form: Float) -> None:
        """``largest`` is the maximum of ``parts`` as unsigned, ``greatest`` as signed integers; no NaN."""
        if form.unsigned:
            self._range(form.value(int(parts.min())), form.value(largest))
        elif largest & form.sign and greatest >= 0:  # numbers of both signs
            self._range(form.value(largest), form.value(greatest))
        elif largest & form.sign:
            self._range(form.value(largest), form.value(int(parts.min())))
        else:
            self._range(form.value(int(parts.min())), form.value(greatest))

    def _range(self, low: float, high: float) -> None:
        self._low = low if self._low is None else min(low, self._low)
        self._high = high if self._high is None else max(high, self._high)


class _Sums:
    """Sums of the finite numbers and their squares, and how many elements are zero."""

    def __init__(self, np: Any, dtype: str) -> None:
        self._np, self._dtype = np, dtype
        self._form = FLOATS.get(dtype)
        self._total = self._squares = 0.0
        self._zeros = self._count = 0
        self._pivot: float | None = None
        self._has_zero = dtype != "F8_E8M0"
        self._one: Numbers | None = None
        self._wide = np.empty(_BLOCK, "<u4")
        self._table = None
        if self._form is not None and DTYPE_BITS[dtype] == 8:
            self._table = np.array([self._decoded(bits) for bits in range(256)], "<f4")

    def _decoded(self, bits: int) -> float:
        assert self._form is not None
        form = self._form
        magnitude = bits & ~form.sign if form.sign else bits
        if (form.fnuz and bits == form.sign) or (form.nan is not None and magnitude >= form.nan):
            return math.nan
        return form.value(bits)

    def add(self, parts: Numbers) -> None:
        np = self._np
        self._count += len(parts)
        self._zeros += int(np.count_nonzero(parts == 0)) if self._has_zero else 0
        if self._has_zero and self._form is not None and self._form.sign and not self._form.fnuz:
            self._zeros += int(np.count_nonzero(parts == self._form.sign))
        with np.errstate(all="ignore"):
            for begin in range(0, len(parts), _BLOCK):
                self._add_block(self.numbers(parts[begin : begin + _BLOCK]))

    def _add_block(self, numbers: Numbers) -> None:
        """Sums of what is left of the numbers without the pivot, so that none is lost where the mean is large
        and the spread small. float32 keeps six digits of a block; NaN and Inf come out of the sums."""
        np = self._np
        if self._pivot is None:
            finite = numbers[np.isfinite(numbers)]
            if not len(finite):
                return
            self._pivot = float(finite[0])
        rest = numbers - numbers.dtype.type(self._pivot)
        squares, total = float(np.dot(rest, rest)), float(np.dot(rest, self._ones(rest)))
        if not math.isfinite(squares) or (squares < 1e-30 and rest.any()):
            rest = numbers[np.isfinite(numbers)].astype("<f8") - self._pivot
            squares, total = float(np.dot(rest, rest)), float(rest.sum())
        self._squares += squares
        self._total += total

    def _ones(self, numbers: Numbers) -> Numbers:
        """As many ones: a dot product is the fastest sum."""
        if self._one is None or self._one.dtype != numbers.dtype:
            self._one = self._np.ones(_BLOCK, numbers.dtype)
        return self._one[: len(numbers)]

    def numbers(self, parts: Numbers) -> Numbers:
        """At most a block of ``parts`` as numbers that numpy knows: float32, or float64 for what does not
        fit. Valid until the next block."""
        np = self._np
        if self._table is not None:
            found: Numbers = self._table[parts]
        elif self._dtype == "BF16":
            wide = self._wide[: len(parts)]
            np.left_shift(parts, np.uint32(16), out=wide, dtype="<u4", casting="unsafe")
            found = wide.view("<f4")
        elif self._form is not None:
            found = parts.view({2: "<f2", 4: "<f4", 8: "<f8"}[parts.itemsize])
            found = found.astype("<f4" if parts.itemsize == 2 else "<f8")
        else:
            found = parts.view(_INTEGERS[self._dtype]).astype("<f8")
        return found

    def result(self, not_finite: int) -> Moments | None:
        finite = self._count - not_finite
        if not finite or self._pivot is None:
            return None
        offset = self._total / finite
        variance = max(0.0, self._squares / finite - offset * offset)
        mean = self._pivot + offset
        if not math.isfinite(mean) or not math.isfinite(variance):
            return None  # numbers near the end of float64
        return Moments(mean, math.sqrt(variance), self._zeros / self._count)
