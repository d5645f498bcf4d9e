"""How the numbers of each tensor changed: both checkpoints are streamed beside each other, in flat memory.

    numbers = compare_numbers(a, b, inventory.pairs)
    numbers.relative, numbers.changed[0].name_a

Tensors are visited in the order in which A holds them, so that A is read once from start to end; so is B, if
it has the same order. Of a pair with different dtypes the decoded values are compared; integers with
integers exactly.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.folder import is_weights
from zoo.checkpoint.model import Checkpoint
from zoo.checkpoint.safetensors import DTYPE_BITS, parse_header
from zoo.diff.decode import decoder, integers, is_float, is_integer
from zoo.diff.model import FileFact, Numbers, Pair, Side, TensorChange
from zoo.errors import UnreadableError
from zoo.printable import quoted

if TYPE_CHECKING:
    from zoo.diff.decode import Doubles

# Elements at a time: as float64 both sides and their difference fit the cache of a core. Even, for F4.
_BLOCK = 2**16
_HASHED = 1024 * 1024

Tell = Callable[[int], None]


def compare_numbers(a: Checkpoint, b: Checkpoint, pairs: Iterable[Pair], tell: Tell | None = None) -> Numbers:
    """Compare the tensors of ``pairs``, but for those of different shapes. ``tell`` gets the bytes that were
    read.

    Raises:
        UnreadableError: a weights file cannot be read, or is not the one whose header was read.
    """
    order = {name: place for place, name in enumerate(_in_file_order(a))}
    wanted = sorted(
        (pair for pair in pairs if pair.a.shape == pair.b.shape), key=lambda pair: order[pair.name_a]
    )
    found: list[TensorChange] = []
    squares = norms = 0.0
    nbytes = 0
    with _Weights(a) as ours, _Weights(b) as theirs:
        for pair in wanted:
            sums = _Sums(pair)
            for one, other in zip(ours.blocks(pair.name_a), theirs.blocks(pair.name_b), strict=True):
                sums.add(one, other)
                nbytes += len(one) + len(other)
                if tell is not None:
                    tell(len(one) + len(other))
            found.append(sums.result())
            if sums.counts:
                squares, norms = squares + sums.squares, norms + sums.norms
        ours.refuse_changed()
        theirs.refuse_changed()
    return Numbers(tuple(found), _ratio(squares, norms), nbytes)


def with_digests(side: Side, other: Side, tell: Tell | None = None) -> Mapping[str, FileFact]:
    """The files of ``side``; those beside the weights that ``other`` has too, in the same size, are hashed.

    Raises:
        UnreadableError: one cannot be read.
    """
    files = dict(side.files or {})
    for path, fact in files.items():
        twin = (other.files or {}).get(path)
        if side.checkpoint is None or is_weights(path) or fact.sha256 is not None:
            continue
        if twin is not None and twin.size == fact.size:
            files[path] = FileFact(fact.size, _sha256(side.checkpoint, path, tell), "read")
    return files


class _Weights:
    """The weights files of a checkpoint, each opened once, from its start."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._stack = ExitStack()
        self._open: dict[str, BinaryIO] = {}
        self._before: dict[str, tuple[int, ...]] = {}
        self._headers = {file.name: file.header for file in checkpoint.weights}
        self._sizes = {file.name: file.size for file in checkpoint.weights}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def blocks(self, name: str) -> Iterator[memoryview]:
        """The bytes of a tensor, :data:`_BLOCK` elements at a time. A block is valid until the next one."""
        tensor, at = self._checkpoint.tensors[name], self._checkpoint.file_of[name]
        count = _BLOCK * DTYPE_BITS[tensor.dtype] // 8
        buffer, left = memoryview(bytearray(min(count, tensor.nbytes))), tensor.nbytes
        try:
            file = self._file(at)
            start = self._checkpoint.data_start[name]
            if file.tell() != start:
                file.seek(start)
            while left:
                block = buffer[: min(count, left)]
                self._fill(file, block, at)
                yield block
                left -= len(block)
        except OSError as error:
            raise _unreadable(self._checkpoint, at, error) from error

    def refuse_changed(self) -> None:
        """Raises UnreadableError if a local file is not what it was when it was opened."""
        for name, before in self._before.items():
            try:
                now = _identity((self._checkpoint.root / name).stat())
            except OSError as error:
                raise _unreadable(self._checkpoint, name, error) from error
            if now != before:
                raise _changed(self._checkpoint, name)

    def _file(self, name: str) -> BinaryIO:
        """The file ``name``, whose header is the one that the comparison of the inventories was about."""
        if name not in self._open:
            file = self._stack.enter_context(opened(self._checkpoint, name))
            if self._checkpoint.opener is None:
                self._before[name] = _identity(os.fstat(file.fileno()))
            header = self._headers[name]
            assert header is not None  # the inventory is known
            raw = read_up_to(file, header.data_start)
            if parse_header(raw, self._sizes[name], name)[0] != header:
                raise _changed(self._checkpoint, name)
            self._open[name] = file
        return self._open[name]

    def _fill(self, file: BinaryIO, block: memoryview, name: str) -> None:
        filled = 0
        while filled < len(block):
            got = file.readinto(block[filled:])  # type: ignore[attr-defined]
            if not got:
                raise _changed(self._checkpoint, name)
            filled += got


class _Sums:
    """What is known of a pair after each of its blocks."""

    def __init__(self, pair: Pair) -> None:
        import numpy as np

        self._np, self._pair = np, pair
        self._one, self._two = decoder(pair.a.dtype), decoder(pair.b.dtype)
        complex_beside_real = (pair.a.dtype == "C64") != (pair.b.dtype == "C64")
        self._compared = self._one is not None and self._two is not None and not complex_beside_real
        self._float = is_float(pair.a.dtype) and is_float(pair.b.dtype)
        self._integers = is_integer(pair.a.dtype) and is_integer(pair.b.dtype)
        self._same_dtype = pair.a.dtype == pair.b.dtype
        self._identical = self._same_dtype
        self._changed = self._not_finite = 0
        self._largest = 0.0
        self.squares = self.norms = 0.0

    @property
    def counts(self) -> bool:
        """Whether the tensor is a part of the change as a whole: maps of token ids are not."""
        return self._compared and self._float

    def add(self, raw: memoryview, other: memoryview) -> None:
        # As bytes: comparing memoryviews goes element by element.
        alike = self._same_dtype and raw.tobytes() == other.tobytes()
        self._identical = self._identical and alike
        if not self._compared:
            return
        if self._integers:
            if not alike:
                self._add_integers(raw, other)
            return
        assert self._one is not None
        assert self._two is not None
        with self._np.errstate(all="ignore"):  # NaN and Inf come out of every step, and are found at its end
            a = self._one(raw)
            if alike:
                self._add_norm(a)
            else:
                self._add_change(a, self._two(other))

    def result(self) -> TensorChange:
        a, b = self._pair.a, self._pair.b
        relative = None
        if self.counts:
            relative = 0.0 if self._identical else _ratio(self.squares, self.norms)
        return TensorChange(
            self._pair.name_a, self._pair.name_b, a.dtype, b.dtype, math.prod(a.shape), self._identical,
            self._changed, relative,
            self._largest if self._compared and math.isfinite(self._largest) else None,
            self._not_finite, self._compared,
        )  # fmt: skip

    def _add_integers(self, raw: memoryview, other: memoryview) -> None:
        """In the widest type of both: float64 cannot tell 2**62 from 2**62 + 1."""
        np, dtypes = self._np, (self._pair.a.dtype, self._pair.b.dtype)
        a, b = integers(dtypes[0], raw), integers(dtypes[1], other)
        if "U64" not in dtypes:
            a, b = a.astype("<i8"), b.astype("<i8")
        elif a.dtype != b.dtype:  # no type of numpy holds both; Python's integers do
            a, b = a.astype(object), b.astype(object)
        high, low = np.maximum(a, b), np.minimum(a, b)
        if high.dtype != object:  # modulo 2**64, which the distance of two of them never reaches
            high, low = high.astype("<u8"), low.astype("<u8")
        change = high - low
        self._changed += int(np.count_nonzero(change))
        if len(change):
            self._largest = max(self._largest, float(change.max()))

    def _add_norm(self, a: Doubles) -> None:
        norm = _squares(a)
        if not math.isfinite(norm):
            finite = a[self._np.isfinite(a)]
            self._not_finite += len(a) - len(finite)
            norm = _squares(finite)
        self.norms += norm

    def _add_change(self, a: Doubles, b: Doubles) -> None:
        np = self._np
        change = a - b
        squares = _squares(change)
        if not math.isfinite(squares):
            finite = np.isfinite(a) & np.isfinite(b)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            self._not_finite += int(np.count_nonzero(~finite))
            self._changed += int(np.count_nonzero(~finite & ~same))
            a, change = a[finite], change[finite]
            squares = _squares(change)
        self.squares += squares
        self._add_norm(a)
        self._changed += int(np.count_nonzero(change))
        if len(change):
            self._largest = max(self._largest, float(np.abs(change).max()))


def _squares(values: Doubles) -> float:
    """The sum of the squares. Not numpy.dot, whose threads wait for each other where the cores are busy; a
    pairwise sum is more exact, too."""
    return float((values * values).sum())


def opened(checkpoint: Checkpoint, name: str) -> BinaryIO:
    """The file ``name`` of a checkpoint from its start, wherever it is.

    Raises OSError or, if it is elsewhere, UnreadableError.
    """
    return open_regular(checkpoint.root / name) if checkpoint.opener is None else checkpoint.opener(name)


def _in_file_order(checkpoint: Checkpoint) -> list[str]:
    places = [(at, checkpoint.data_start[name], name) for name, at in checkpoint.file_of.items()]
    return [name for _, _, name in sorted(places)]


def _ratio(squares: float, norms: float) -> float | None:
    """norm(A - B) / norm(A) from the sums of squares; None where that is no number."""
    if not (math.isfinite(squares) and math.isfinite(norms)):
        return None
    if not squares:
        return 0.0
    return math.sqrt(squares) / math.sqrt(norms) if norms else None


def _sha256(checkpoint: Checkpoint, name: str, tell: Tell | None) -> str:
    import hashlib

    digest = hashlib.sha256()
    try:
        with opened(checkpoint, name) as file:
            while chunk := file.read(_HASHED):
                digest.update(chunk)
                if tell is not None:
                    tell(len(chunk))
    except OSError as error:
        raise _unreadable(checkpoint, name, error) from error
    return digest.hexdigest()


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_dev)


def _unreadable(checkpoint: Checkpoint, name: str, error: OSError) -> UnreadableError:
    return UnreadableError(
        f"{quoted(name)} of {quoted(checkpoint.source)} cannot be read ({error.strerror or error})",
        hint="check the disk and the permissions of the file",
    )


def _changed(checkpoint: Checkpoint, name: str) -> UnreadableError:
    return UnreadableError(
        f"{quoted(name)} of {quoted(checkpoint.source)} changed while it was read",
        hint="wait until whatever writes it has finished, then run the command again",
    )
