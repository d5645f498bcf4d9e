"""A diff at deep level: the numbers of the tensors, and the digests of the files beside them."""

from __future__ import annotations

from dataclasses import replace

from zoo.diff.compare import compare, paired
from zoo.diff.model import Diff, NotCompared, Side
from zoo.diff.numbers import Tell, compare_numbers, with_digests


def deep_diff(a: Side, b: Side, tell: Tell | None = None) -> Diff:
    """What differs between ``a`` and ``b``, with every byte of both that is within reach.

    Raises:
        UnreadableError: a file cannot be read, or changed while it was read.
    """
    a, b = (
        replace(side, files=with_digests(side, other, tell)) if side.files is not None else side
        for side, other in ((a, b), (b, a))
    )
    understood = a.tensors is not None and b.tensors is not None
    if not understood or a.checkpoint is None or b.checkpoint is None:
        without = [side.name for side in (a, b) if side.checkpoint is None or side.tensors is None]
        reason = f"{' and '.join(without)}: there are no weights that can be read"
        found = compare(a, b)
        missing = NotCompared("numbers", reason)
        return replace(found, level="deep", not_compared=(*found.not_compared, missing))
    pairs = paired(a, b).pairs
    return compare(a, b, compare_numbers(a.checkpoint, b.checkpoint, pairs, tell))
