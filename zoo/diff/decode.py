"""The numbers of a tensor as float64, from its raw bytes, for dtypes whose elements can be told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from zoo.checkpoint.numbers import FLOATS, Float

if TYPE_CHECKING:
    import numpy

    Doubles = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

Decoder = Callable[[memoryview], "Doubles"]

# What numpy knows; a C64 is two F32, a BOOL a byte.
_PLAIN = {
    "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<f4", "BOOL": "u1",
    "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8",
    "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8",
}  # fmt: skip
# OCP MX 1.0, 5.3.3: E2M1, neither NaN nor Inf. Two elements in a byte, the first in the low half
# (torch.float4_e2m1fn_x2). How a file packs the elements of F6 is not stated anywhere.
_F4 = Float(2, 1, None, None, 1)


def is_integer(dtype: str) -> bool:
    """Whether the dtype holds whole numbers, of which float64 cannot tell all apart."""
    return dtype == "BOOL" or (dtype[:1] in "IU" and dtype in _PLAIN)


def integers(dtype: str, raw: memoryview) -> numpy.ndarray[Any, Any]:
    """The whole numbers in the bytes of elements of ``dtype``, one of :func:`is_integer`."""
    import numpy as np

    return np.frombuffer(raw, np.dtype(_PLAIN[dtype]))


def is_float(dtype: str) -> bool:
    """Whether the dtype holds weights, and not indices or flags."""
    return dtype in FLOATS or dtype == "F4" or dtype.startswith("F6_")


@cache
def decoder(dtype: str) -> Decoder | None:
    """What makes numbers of the bytes of whole elements (of a whole byte, for F4); None for F6."""
    import numpy as np

    if dtype in _PLAIN:
        plain = np.dtype(_PLAIN[dtype])
        return lambda raw: np.frombuffer(raw, plain).astype("<f8")
    if dtype == "BF16":
        return lambda raw: (
            (np.frombuffer(raw, "<u2").astype("<u4") << np.uint32(16)).view("<f4").astype("<f8")
        )
    if dtype == "F4":
        halves = np.array([[_F4.value(byte & 15), _F4.value(byte >> 4)] for byte in range(256)], "<f8")
        return lambda raw: halves[np.frombuffer(raw, "u1")].reshape(-1)
    if dtype in FLOATS:
        table = np.array([_value(FLOATS[dtype], byte) for byte in range(256)], "<f8")
        return lambda raw: table[np.frombuffer(raw, "u1")]
    return None


def _value(form: Float, bits: int) -> float:
    """The number of an 8-bit float, NaN included."""
    magnitude = bits & ~form.sign if form.sign else bits
    if (form.fnuz and bits == form.sign) or (form.nan is not None and magnitude >= form.nan):
        return math.nan
    return form.value(bits)
