"""Mending a checkpoint in a copy: the renames, removals and casts that findings suggest.

The original is never touched. What cannot be mended without the training run (a missing tensor, a wrong
shape, a fused projection) stays as it is, and verify goes on saying so.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from zoo.aside import built_aside
from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.index import INDEX_NAME
from zoo.checkpoint.model import Checkpoint, TensorInfo, WeightsFile
from zoo.checkpoint.writer import header_bytes
from zoo.drafts import TensorSpec
from zoo.rules import Subject
from zoo.standin import bfloat16

# Bytes of one read: a multiple of every element size.
_CHUNK = 1024 * 1024
# The casts that lose nothing but what bfloat16 cannot hold; float16 has clipped already.
_CASTS = {("F32", "BF16"): "<f4", ("F16", "BF16"): "<f2"}


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one tensor: ``name`` is None where it is removed, ``dtype`` what it is cast to."""

    tensor: str
    name: str | None
    dtype: str

    def said(self, before: str) -> str:
        """The change in words; ``before`` is the dtype of the tensor."""
        if self.name is None:
            return f"remove {self.tensor}"
        renamed = (
            f"rename {self.tensor} to {self.name}" if self.name != self.tensor else f"cast {self.tensor}"
        )
        return renamed if self.dtype == before else f"{renamed}, from {before} to {self.dtype}"


def plan(subject: Subject) -> dict[str, Change]:
    """The changes that would mend the tensors of the checkpoint, by the tensor's present name.

    A rename whose new name another tensor has is left out: which of the two is right, only a person knows.
    """
    assert subject.checkpoint is not None
    tensors, wanted = subject.checkpoint.tensors, {**(subject.inventory or {}), **subject.optional}
    names: dict[str, str | None] = {name: name for name in tensors}
    for name, foreign in subject.foreign_names.items():
        if foreign.native is not None and foreign.native not in tensors:
            names[name] = foreign.native
        elif foreign.native is None and foreign.advice.startswith("remove"):
            names[name] = None
    taken = [name for name in names.values() if name is not None]
    changes = {}
    for old, new in names.items():
        if new is not None and new != old and taken.count(new) > 1:
            continue
        before, spec = tensors[old].dtype, wanted.get(new or "")
        after = spec.dtype if spec is not None and (before, spec.dtype) in _CASTS else before
        if new != old or after != before:
            changes[old] = Change(old, new, after)
    return changes


def write_fixed(checkpoint: Checkpoint, changes: Mapping[str, Change], out: Path) -> None:
    """Write the checkpoint with ``changes`` to the new folder ``out``; every other file is copied as it is.

    Raises:
        UsageError: ``out`` exists and is not empty.
        OSError: a file cannot be read or written; nothing is left behind.
    """
    weights = {file.name: file for file in checkpoint.weights}
    with built_aside(out) as folder:
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
    kept: dict[str, tuple[TensorInfo, TensorSpec]] = {}
    for tensor in sorted(file.header.tensors.values(), key=lambda each: each.begin):
        change = changes.get(tensor.name, Change(tensor.name, tensor.name, tensor.dtype))
        if change.name is not None:
            kept[change.name] = (tensor, TensorSpec(change.dtype, tensor.shape))
    with open_regular(source) as reading, target.open("xb") as writing:
        writing.write(header_bytes({name: spec for name, (_, spec) in kept.items()}, file.header.metadata))
        for tensor, spec in kept.values():
            reading.seek(file.header.data_start + tensor.begin)
            for chunk in _chunks(reading, tensor.nbytes):
                writing.write(_cast(chunk, tensor.dtype, spec.dtype))


def _chunks(file: BinaryIO, count: int) -> Iterator[bytes]:
    while count > 0 and (chunk := read_up_to(file, min(_CHUNK, count))):
        count -= len(chunk)
        yield chunk


def _cast(data: bytes, before: str, after: str) -> bytes:
    if before == after:
        return data
    import numpy as np

    numbers = np.frombuffer(data, _CASTS[before, after]).astype("<f4")
    rounded = bfloat16(np.where(np.isfinite(numbers), numbers, np.float32(0)))
    # Rounding would make NaN of Inf or the reverse: of those the upper half is taken, NaN kept quiet.
    upper = (numbers.view("<u4") >> 16).astype("<u2") | np.where(np.isnan(numbers), 0x40, 0).astype("<u2")
    return np.where(np.isfinite(numbers), rounded, upper).astype("<u2").tobytes()


def _index(checkpoint: Checkpoint, changes: Mapping[str, Change]) -> str:
    """The index with the new names. Its total size is left out, which is allowed, as casts change it."""
    names = {name: changes[name].name if name in changes else name for name in checkpoint.index or {}}
    weight_map = {new: (checkpoint.index or {})[old] for old, new in names.items() if new is not None}
    return json.dumps({"metadata": {}, "weight_map": dict(sorted(weight_map.items()))}, indent=2) + "\n"
