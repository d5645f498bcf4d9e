"""The families of drafts. One file per family: config keys -> the exact inventory of tensors.

The inventory needs no weights, no GPU and no torch: it is a pure function of a few config keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

NBYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "BOOL": 1}
# As recipes and configs spell a dtype, and as a safetensors header does.
HEADER_DTYPE = {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}


class TensorSpec(NamedTuple):
    """What a tensor must be: ``dtype`` as a safetensors header spells it, ``shape`` as torch orders it,
    [out, in]."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.elements * NBYTES[self.dtype]


Inventory = Mapping[str, TensorSpec]
