"""Which values of two JSON documents differ, by JSON pointer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from zoo.checkpoint.jsonfile import pointer
from zoo.diff.model import ABSENT, Change


def changes(a: Any, b: Any, *at: str | int, leaves: bool = False) -> Iterator[Change]:
    """The deepest differences below ``at``, in the order of the keys. Lists of different lengths differ as a
    whole: their elements have no names. With ``leaves``, so does not a map that only one side has: each of
    its values does."""
    if leaves and isinstance(a, Mapping) and b is ABSENT:
        b = {}
    if leaves and isinstance(b, Mapping) and a is ABSENT:
        a = {}
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted(a.keys() | b.keys()):
            yield from changes(a.get(key, ABSENT), b.get(key, ABSENT), *at, key, leaves=leaves)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from changes(one, other, *at, index, leaves=leaves)
    elif not same(a, b):
        yield Change(pointer(*at), a, b)


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values mean the same: 1 and 1.0 do, 1 and true do not, NaN is NaN."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    return bool(a == b)


def finite(value: Any) -> Any:
    """``value`` with NaN and the infinities as words, which is how a JSON text can hold them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list) else value
