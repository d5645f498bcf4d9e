"""Which tensors of two checkpoints, or of one, are the same, byte for byte.

A trained tensor differs from its base within the first bytes, so that the comparison of a fine-tune reads a
fraction of either file; only what was never trained is read to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.model import Checkpoint, TensorInfo
from zoo.errors import UnreadableError
from zoo.printable import quoted

if TYPE_CHECKING:
    from zoo.checkpoint.numbers import TensorScan

# Small first, because most tensors differ at once.
_FIRST, _CHUNK = 4 * 1024, 1024 * 1024


def unchanged_tensors(ours: Checkpoint, base: Checkpoint) -> frozenset[str]:
    """The names of the tensors that both have with one dtype, one shape and the same bytes.

    Raises:
        UnreadableError: a weights file cannot be read, or is shorter than it was.
    """
    alike = [name for name, tensor in ours.tensors.items() if _same_form(tensor, base.tensors.get(name))]
    return frozenset(name for name in alike if _same_bytes(ours, base, name, name))


def identical_tensors(checkpoint: Checkpoint, scans: Mapping[str, TensorScan]) -> tuple[tuple[str, ...], ...]:
    """Groups of tensors of one checkpoint with one dtype, one shape and the same bytes, in the order of the
    names. Constant tensors are left out: fresh norms are all alike, and D002, D003 and D005 are about those.

    Equal checksums of ``scans`` make a candidate, the bytes decide. A remote checkpoint has no groups: it
    would have to be fetched again.

    Raises:
        UnreadableError: a weights file cannot be read, or is shorter than it was.
    """
    if checkpoint.opener is not None:
        return ()
    alike: dict[tuple[object, ...], list[str]] = {}
    for name, scan in sorted(scans.items()):
        if name in checkpoint.tensors and not scan.constant and checkpoint.tensors[name].nbytes:
            alike.setdefault((scan.dtype, scan.shape, scan.checksum), []).append(name)
    groups = []
    for first, *rest in alike.values():
        same = [name for name in rest if _same_bytes(checkpoint, checkpoint, first, name)]
        if same:
            groups.append((first, *same))
    return tuple(groups)


def _same_form(one: TensorInfo, other: TensorInfo | None) -> bool:
    return other is not None and (one.dtype, one.shape) == (other.dtype, other.shape)


def _same_bytes(ours: Checkpoint, base: Checkpoint, name: str, their_name: str) -> bool:
    with _opened(ours, name) as one, _opened(base, their_name) as other:
        left, count = ours.tensors[name].nbytes, _FIRST
        while left:
            count = min(count, left)
            if _read(one, count, ours, name) != _read(other, count, base, their_name):
                return False
            left, count = left - count, _CHUNK
    return True


def _opened(checkpoint: Checkpoint, name: str) -> BinaryIO:
    """The weights file of the tensor ``name``, at its first byte."""
    at = checkpoint.file_of[name]
    try:
        file = open_regular(checkpoint.root / at) if checkpoint.opener is None else checkpoint.opener(at)
        file.seek(checkpoint.data_start[name])
    except OSError as error:
        raise _unreadable(checkpoint, name) from error
    return file


def _read(file: BinaryIO, count: int, checkpoint: Checkpoint, name: str) -> bytes:
    """Exactly ``count`` bytes of the tensor ``name``."""
    try:
        raw = read_up_to(file, count)
    except OSError as error:
        raise _unreadable(checkpoint, name) from error
    if len(raw) != count:
        raise _unreadable(checkpoint, name)
    return raw


def _unreadable(checkpoint: Checkpoint, name: str) -> UnreadableError:
    return UnreadableError(
        f"tensor {quoted(name)} of {quoted(checkpoint.source)} cannot be read any more",
        hint="wait until whatever writes the folder has finished, then run the command again",
    )
