"""Which tensors of two checkpoints are the same, byte for byte.

A trained tensor differs from its base within the first bytes, so that the comparison of a fine-tune reads a
fraction of either file; only what was never trained is read to its end.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.model import Checkpoint, TensorInfo
from zoo.errors import UnreadableError
from zoo.printable import quoted

# Small first, because most tensors differ at once.
_FIRST, _CHUNK = 4 * 1024, 1024 * 1024


def unchanged_tensors(ours: Checkpoint, base: Checkpoint) -> frozenset[str]:
    """The names of the tensors that both have with one dtype, one shape and the same bytes.

    Raises:
        UnreadableError: a weights file cannot be read, or is shorter than it was.
    """
    alike = [name for name, tensor in ours.tensors.items() if _same_form(tensor, base.tensors.get(name))]
    return frozenset(name for name in alike if _same_bytes(ours, base, name))


def _same_form(one: TensorInfo, other: TensorInfo | None) -> bool:
    return other is not None and (one.dtype, one.shape) == (other.dtype, other.shape)


def _same_bytes(ours: Checkpoint, base: Checkpoint, name: str) -> bool:
    with _opened(ours, name) as one, _opened(base, name) as other:
        left, count = ours.tensors[name].nbytes, _FIRST
        while left:
            count = min(count, left)
            mine, theirs = (read_up_to(file, count) for file in (one, other))
            if len(mine) != count or len(theirs) != count:
                raise _changed(ours if len(mine) != count else base, name)
            if mine != theirs:
                return False
            left, count = left - count, _CHUNK
    return True


def _opened(checkpoint: Checkpoint, name: str) -> BinaryIO:
    """The weights file of the tensor ``name``, at its first byte."""
    path: Path = checkpoint.root / checkpoint.file_of[name]
    try:
        file = open_regular(path)
    except OSError as error:
        raise _changed(checkpoint, name) from error
    file.seek(checkpoint.data_start[name])
    return file


def _changed(checkpoint: Checkpoint, name: str) -> UnreadableError:
    return UnreadableError(
        f"tensor {quoted(name)} of {quoted(checkpoint.source)} cannot be read any more",
        hint="wait until whatever writes the folder has finished, then run the command again",
    )
