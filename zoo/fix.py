"""Mending a checkpoint in a copy: the renames, removals, splits and casts that findings suggest.

The original is never touched. What cannot be mended without the training run (a missing tensor, a wrong
shape) stays as it is, and verify goes on saying so.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

from zoo.aside import built_aside
from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.index import INDEX_NAME
from zoo.checkpoint.model import Checkpoint, TensorInfo, WeightsFile
from zoo.checkpoint.writer import header_bytes
from zoo.drafts import Inventory, TensorSpec
from zoo.rules import Subject
from zoo.standin import bfloat16

# Bytes of one read: a multiple of every element size.
_CHUNK = 1024 * 1024
# The casts that lose nothing but what bfloat16 cannot hold (float16 has clipped already), with the numpy
# dtype of what is read; and those of integers that lose nothing at all.
_ROUNDED = {("F32", "BF16"): "<f4", ("F16", "BF16"): "<f2"}
_WIDENED = {("I8", "I64"): "<i1", ("I16", "I64"): "<i2", ("I32", "I64"): "<i4"}
_CASTS = {**_ROUNDED, **_WIDENED}


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one tensor: the ``names`` of the tensors that are made of its rows, in their order
    (none where it is removed), how many ``rows`` each takes where there are several, and the ``dtype`` that
    it is cast to."""

    tensor: str
    names: tuple[str, ...]
    dtype: str
    rows: tuple[int, ...] = ()

    def said(self, before: str) -> str:
        """The change in words; ``before`` is the dtype of the tensor."""
        if not self.names:
            return f"remove {self.tensor}"
        if len(self.names) > 1:
            done = f"split {self.tensor} into {', '.join(self.names)}"
        elif self.names != (self.tensor,):
            done = f"rename {self.tensor} to {self.names[0]}"
        else:
            done = f"cast {self.tensor}"
        return done if self.dtype == before else f"{done}, from {before} to {self.dtype}"


def plan(subject: Subject) -> dict[str, Change]:
    """The changes that would mend the tensors of the checkpoint, by the tensor's present name.

    A rename whose new name another tensor has is left out: which of the two is right, only a person knows. A
    second copy goes only where its bytes are those of the first.

    Raises:
        OSError: a weights file cannot be read.
    """
    checkpoint = subject.checkpoint
    assert checkpoint is not None
    tensors, wanted = checkpoint.tensors, {**(subject.inventory or {}), **subject.optional}
    names: dict[str, tuple[str, ...]] = {name: (name,) for name in tensors}
    for name, foreign in subject.foreign_names.items():
        if foreign.copy_of is not None:
            names[name] = () if _same_bytes(checkpoint, name, foreign.copy_of) else (name,)
        elif foreign.native is not None:
            names[name] = (foreign.native,)
        elif foreign.advice.startswith("remove"):
            names[name] = ()
        elif foreign.parts and _rows(tensors[name], foreign.parts, wanted):
            names[name] = foreign.parts
    taken = Counter(new for each in names.values() for new in each)
    changes = {}
    for old, new in names.items():
        if new != (old,) and any(taken[each] > 1 for each in new):
            continue
        before, spec = tensors[old].dtype, wanted.get(new[0]) if new else None
        after = spec.dtype if spec is not None and (before, spec.dtype) in _CASTS else before
        if new != (old,) or after != before:
            rows = _rows(tensors[old], new, wanted) if len(new) > 1 else ()
            changes[old] = Change(old, new, after, rows)
    return changes


def _rows(tensor: TensorInfo, parts: tuple[str, ...], wanted: Inventory) -> tuple[int, ...]:
    """How many rows of a fused ``tensor`` each of its parts takes; none where they do not add up to it."""
    shapes = [wanted[part].shape for part in parts]
    rows = tuple(shape[0] for shape in shapes)
    fits = all((sum(rows), *shape[1:]) == tensor.shape for shape in shapes)
    return rows if fits else ()


def _same_bytes(checkpoint: Checkpoint, one: str, other: str) -> bool:
    ours, theirs = checkpoint.tensors[one], checkpoint.tensors[other]
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return False
    headers = {file.name: file.header for file in checkpoint.weights}
    files = checkpoint.file_of[one], checkpoint.file_of[other]
    starts = [headers[file] for file in files]
    with (
        open_regular(checkpoint.root / files[0]) as first,
        open_regular(checkpoint.root / files[1]) as second,
    ):
        for file, header, tensor in zip((first, second), starts, (ours, theirs), strict=True):
            assert header is not None
            file.seek(header.data_start + tensor.begin)
        pairs = zip_longest(_chunks(first, ours.nbytes), _chunks(second, theirs.nbytes))
        return all(mine == yours for mine, yours in pairs)


def write_fixed(checkpoint: Checkpoint, changes: Mapping[str, Change], out: Path) -> None:
    """Write the checkpoint with ``changes`` to the new folder ``out``; every other file is copied as it is.

    Raises:
        UsageError: ``out`` exists and is not empty, or lies inside the checkpoint.
        OSError: a file cannot be read or written; nothing is left behind.
    """
    weights = {file.name: file for file in checkpoint.weights}
    with built_aside(out, keep_out_of=checkpoint.root) as folder:
        for name in checkpoint.files:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if name in weights:
                _write_weights(checkpoint.root / name, weights[name], changes, target)
            elif name == INDEX_NAME:
                target.write_text(_index(checkpoint, changes), encoding="utf-8")
            else:
                shutil.copyfile(checkpoint.root / name, target)


def _write_weights(source: Path, file: WeightsFile, changes: Mapping[str, Change], target: Path) -> None:
    assert file.header is not None
    specs: dict[str, TensorSpec] = {}
    pieces: list[tuple[TensorInfo, int, int, str]] = []  # tensor, its first byte, how many, the new dtype
    for tensor in sorted(file.header.tensors.values(), key=lambda each: each.begin):
        change = changes.get(tensor.name, Change(tensor.name, (tensor.name,), tensor.dtype))
        begin = 0
        for index, name in enumerate(change.names):
            shape, nbytes = tensor.shape, tensor.nbytes
            if change.rows:
                shape = (change.rows[index], *tensor.shape[1:])
                nbytes = tensor.nbytes * shape[0] // tensor.shape[0]
            specs[name] = TensorSpec(change.dtype, shape)
            pieces.append((tensor, begin, nbytes, change.dtype))
            begin += nbytes
    with open_regular(source) as reading, target.open("xb") as writing:
        writing.write(header_bytes(specs, file.header.metadata))
        for tensor, begin, nbytes, dtype in pieces:
            reading.seek(file.header.data_start + tensor.begin + begin)
            for chunk in _chunks(reading, nbytes):
                writing.write(_cast(chunk, tensor.dtype, dtype))


def _chunks(file: BinaryIO, count: int) -> Iterator[bytes]:
    while count > 0 and (chunk := read_up_to(file, min(_CHUNK, count))):
        count -= len(chunk)
        yield chunk


def _cast(data: bytes, before: str, after: str) -> bytes:
    if before == after:
        return data
    import numpy as np

    read = np.frombuffer(data, _CASTS[before, after])
    if (before, after) in _WIDENED:
        return read.astype("<i8").tobytes()
    numbers = read.astype("<f4")
    rounded = bfloat16(np.where(np.isfinite(numbers), numbers, np.float32(0)))
    # Rounding would make NaN of Inf or the reverse: of those the upper half is taken, NaN kept quiet.
    upper = (numbers.view("<u4") >> 16).astype("<u2") | np.where(np.isnan(numbers), 0x40, 0).astype("<u2")
    return np.where(np.isfinite(numbers), rounded, upper).astype("<u2").tobytes()


def _index(checkpoint: Checkpoint, changes: Mapping[str, Change]) -> str:
    """The index with the new names. Its total size is left out, which is allowed, as casts change it."""
    files = checkpoint.index or {}
    weight_map = {
        new: file
        for name, file in files.items()
        for new in (changes[name].names if name in changes else (name,))
    }
    return json.dumps({"metadata": {}, "weight_map": dict(sorted(weight_map.items()))}, indent=2) + "\n"
