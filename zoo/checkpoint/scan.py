"""One pass over every byte: the sha256 of each file and, from the same buffers, what the numbers of each
tensor show.

    scan = scan_checkpoint(checkpoint, checkpoint.files)
    scan.files["model.safetensors"].sha256, scan.tensors["fc.weight"].nan

numpy has no type for most floats of a checkpoint, and needs none: the bits of a float without its sign are
an unsigned integer that grows with the magnitude, so that NaN, Inf and zero are comparisons of integers.

A file is read tensor by tensor, in chunks whose size every element size divides, so that no element ever
straddles two buffers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.model import Checkpoint, Header, TensorInfo
from zoo.checkpoint.safetensors import DTYPE_BITS, parse_header
from zoo.digests import FileDigest
from zoo.errors import UnreadableError
from zoo.printable import quoted

if TYPE_CHECKING:
    import numpy

    Numbers = numpy.ndarray[Any, numpy.dtype[Any]]

# Small enough for the cache of a core, large enough that a call costs nothing; a multiple of every element
# size.
CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Float:
    """How one float format is read from its bits. ``magnitude`` keeps all bits but the sign; a magnitude
    equal to ``infinity`` is Inf, one from ``nan[0]`` to ``nan[1]`` is NaN, and 0 is zero."""

    magnitude: int
    infinity: int | None
    nan: tuple[int, int]


# IEEE 754 for the wide ones; for 8 bits: OCP OFP8 (E4M3 without Inf, E5M2), FNUZ as in arXiv:2206.02915
# (the pattern of -0 is the only NaN), OCP MX for E8M0 (a bare exponent: no sign, no zero). F4 and F6 have
# neither NaN nor Inf.
FLOATS: Mapping[str, Float] = {
    "BF16": Float(0x7FFF, 0x7F80, (0x7F81, 0x7FFF)),
    "F16": Float(0x7FFF, 0x7C00, (0x7C01, 0x7FFF)),
    "F32": Float(0x7FFFFFFF, 0x7F800000, (0x7F800001, 0x7FFFFFFF)),
    "C64": Float(0x7FFFFFFF, 0x7F800000, (0x7F800001, 0x7FFFFFFF)),
    "F64": Float(2**63 - 1, 0x7FF << 52, ((0x7FF << 52) + 1, 2**63 - 1)),
    "F8_E5M2": Float(0x7F, 0x7C, (0x7D, 0x7F)),
    "F8_E4M3": Float(0x7F, None, (0x7F, 0x7F)),
    "F8_E5M2FNUZ": Float(0xFF, None, (0x80, 0x80)),
    "F8_E4M3FNUZ": Float(0xFF, None, (0x80, 0x80)),
    "F8_E8M0": Float(0xFF, None, (0xFF, 0xFF)),
}
_WITHOUT_ZERO = ("F8_E8M0",)


@dataclass(frozen=True, slots=True)
class TensorScan:
    """What the numbers of one tensor show. ``nan`` and ``inf`` count elements (for complex, parts of
    elements).

    ``zero``: every element is 0. ``constant``: every element has the same bits (F4 and F6: every byte).
    Both are False for a tensor without elements.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    nan: int
    inf: int
    zero: bool
    constant: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a pass: a digest for every file that was read, and a :class:`TensorScan` for every
    tensor in them."""

    files: Mapping[str, FileDigest]
    tensors: Mapping[str, TensorScan]


def scan_checkpoint(
    checkpoint: Checkpoint, names: Iterable[str], progress: Callable[[int], None] | None = None
) -> Scan:
    """Read the files ``names`` of ``checkpoint``, each once, in flat memory. ``progress`` gets the bytes
    of each chunk.

    Raises:
        UnreadableError: a file is missing or cannot be read, or it changed since the checkpoint was opened
            or while it was read, so that nothing can be said of it.
    """
    headers = {file.name: file.header for file in checkpoint.weights}
    files: dict[str, FileDigest] = {}
    tensors: dict[str, TensorScan] = {}
    for name in names:
        if name not in checkpoint.files:
            raise UnreadableError(
                f"{quoted(name)} is not a file of {quoted(checkpoint.source)}",
                hint="check the folder and the name",
            )
        try:
            files[name], found = _scan_file(checkpoint, name, headers.get(name), progress or _silent)
        except OSError as error:
            raise UnreadableError(
                f"{quoted(name)} of {quoted(checkpoint.source)} cannot be read ({error.strerror or error})",
                hint="check the disk and the permissions of the file",
            ) from error
        tensors |= {tensor.name: tensor for tensor in found}
    return Scan(files, tensors)


def _scan_file(
    checkpoint: Checkpoint, name: str, header: Header | None, progress: Callable[[int], None]
) -> tuple[FileDigest, list[TensorScan]]:
    path = checkpoint.root / name
    sha256, total = hashlib.sha256(), 0
    tensors: list[TensorScan] = []
    with open_regular(path) as file:
        before = _identity(os.fstat(file.fileno()))
        unchanged = before[1] == checkpoint.files[name]
        if header is not None and unchanged:
            raw = read_up_to(file, header.data_start)
            sha256.update(raw)
            total += len(raw)
            # What the rules were told of the header must be true of these very bytes.
            unchanged = parse_header(raw, before[1], name)[0] == header
            for tensor in sorted(header.tensors.values(), key=lambda each: each.begin) if unchanged else ():
                numbers = _Numbers(tensor)
                for chunk in _chunks(file, tensor.nbytes):
                    sha256.update(chunk)
                    numbers.add(chunk)
                    total += len(chunk)
                    progress(len(chunk))
                tensors.append(numbers.result(name))
        for chunk in _chunks(file, before[1] - total) if unchanged else ():
            sha256.update(chunk)
            total += len(chunk)
            progress(len(chunk))
        after = _identity(os.fstat(file.fileno()))
    # By its name too: a file that was replaced keeps the identity of the one that is still open.
    if not unchanged or total != before[1] or not before == after == _identity(path.stat()):
        raise UnreadableError(
            f"{quoted(name)} of {quoted(checkpoint.source)} changed while it was read",
            hint="wait until whatever writes it has finished, then run the command again",
        )
    return FileDigest(name, total, sha256.hexdigest()), tensors


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_dev)


def _chunks(file: BinaryIO, count: int) -> Iterator[memoryview]:
    """The next ``count`` bytes in chunks, all of :data:`CHUNK` bytes but the last. Ends early at the end
    of the file.

    The buffer is reused: a chunk is valid until the next one is asked for.
    """
    buffer = memoryview(bytearray(min(count, CHUNK)))
    while count > 0:
        want, filled = min(count, CHUNK), 0
        while filled < want and (got := file.readinto(buffer[filled:want])):  # type: ignore[attr-defined]
            filled += got
        if filled:
            yield buffer[:filled]
        if filled < want:
            return
        count -= filled


class _Numbers:
    """What is known of a tensor after each of its chunks."""

    def __init__(self, tensor: TensorInfo) -> None:
        import numpy as np

        bits = DTYPE_BITS[tensor.dtype]
        # An element of C64 is two floats; only "the same as the first" has to look at both together.
        width = {4: 1, 6: 1}.get(bits, bits // 8)
        self._np = np
        self._tensor = tensor
        self._float = FLOATS.get(tensor.dtype)
        self._element = np.dtype(f"<u{width}")
        self._part = np.dtype("<u4") if tensor.dtype == "C64" else self._element
        self._first: Numbers | None = None
        self._nan = self._inf = 0
        self._zero = self._constant = tensor.nbytes > 0

    def add(self, chunk: memoryview) -> None:
        if len(chunk) % self._element.itemsize:
            return  # the file is being cut off while it is read, which the caller notices
        parts = self._np.frombuffer(chunk, self._part)
        if self._constant:
            elements = parts.view(self._element)
            self._first = elements[:1].copy() if self._first is None else self._first
            self._constant = bool((elements == self._first).all())
        if self._float is None:
            self._zero = self._zero and not parts.any()
            return
        magnitudes = parts & self._part.type(self._float.magnitude)
        largest = int(magnitudes.max())
        self._zero = self._zero and largest == 0 and self._tensor.dtype not in _WITHOUT_ZERO
        low, high = self._float.nan
        if largest >= low:
            self._nan += int(((magnitudes >= low) & (magnitudes <= high)).sum())
        if self._float.infinity is not None and largest >= self._float.infinity:
            self._inf += int((magnitudes == self._float.infinity).sum())

    def result(self, file: str) -> TensorScan:
        tensor = self._tensor
        return TensorScan(
            tensor.name, file, tensor.dtype, tensor.shape, self._nan, self._inf, self._zero, self._constant
        )


def _silent(_: int) -> None:
    """Progress that nobody asked for."""
