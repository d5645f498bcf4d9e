"""One pass over every byte: the sha256 of each file and, from the same buffers, what the numbers of each
tensor show.

    scan = scan_checkpoint(checkpoint, checkpoint.files)
    scan.files["model.safetensors"].sha256, scan.tensors["fc.weight"].nan

Three threads share the work on a file: one reads, one hashes, one looks at the numbers. The hash is the
slowest by far, and the other two keep it fed. Files are read beside each other. Memory is a few buffers a
file, whatever its size.

A file is read tensor by tensor, in buffers whose size every element size divides, so that no element ever
straddles two of them.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import BinaryIO, NoReturn, Self

from zoo.checkpoint.cache import NO_CACHE, ScanCache, Scanned
from zoo.checkpoint.compare import identical_tensors
from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.model import Checkpoint, Header
from zoo.checkpoint.numbers import FLOATS, Gatherer, Moments, TensorScan
from zoo.checkpoint.safetensors import parse_header
from zoo.digests import FileDigest
from zoo.errors import UnreadableError
from zoo.printable import quoted

__all__ = ["FLOATS", "DeepPass", "Moments", "Scan", "TensorScan", "scan_checkpoint"]

# Small enough for the cache of a core, large enough that a call costs nothing; a multiple of every element
# size.
CHUNK = 2 * 1024 * 1024
_BUFFERS = 8  # per file
_PARALLEL = 8  # files at once, at most


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a pass: a digest for every file that was read, and a :class:`TensorScan` for every
    tensor in them. ``identical`` are groups of tensors with the same bytes, compared and not only hashed."""

    files: Mapping[str, FileDigest]
    tensors: Mapping[str, TensorScan]
    identical: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class DeepPass:
    """How a pass over every byte is made: ``progress`` gets the bytes of each buffer (``expect`` their sum
    before, as far as files go), ``stats`` adds :class:`Moments`, and a file that ``cache`` knows is not
    read."""

    progress: Callable[[int], None] | None = None
    stats: bool = False
    cache: ScanCache = NO_CACHE
    expect: Callable[[int], None] | None = None


def scan_checkpoint(checkpoint: Checkpoint, names: Iterable[str], how: DeepPass | None = None) -> Scan:
    """Read the files ``names`` of ``checkpoint``, each once, in flat memory.

    Raises:
        UnreadableError: a file is missing or cannot be read, or it changed since the checkpoint was opened
            or while it was read, so that nothing can be said of it.
    """
    headers = {file.name: file.header for file in checkpoint.weights}
    wanted = list(names)
    for name in wanted:
        if name not in checkpoint.files:
            raise UnreadableError(
                f"{quoted(name)} is not a file of {quoted(checkpoint.source)}",
                hint="check the folder and the name",
            )
    how = how or DeepPass()
    if how.expect is not None:
        how.expect(sum(checkpoint.files[name] for name in wanted))
    told, lock, stop = how.progress or _silent, threading.Lock(), threading.Event()

    def tell(count: int) -> None:
        if stop.is_set():
            raise _StoppedError
        with lock:
            told(count)

    def one(name: str) -> Scanned:
        return _scan_file(checkpoint, name, headers.get(name), tell, how)

    # The largest first, so that the last one to finish is a small one.
    order = sorted(wanted, key=lambda name: checkpoint.files[name], reverse=True)
    with _short_turns(), ThreadPoolExecutor(max(1, min(len(order), os.cpu_count() or 1, _PARALLEL))) as pool:
        jobs = {name: pool.submit(one, name) for name in order}
        try:
            done = {name: jobs[name].result() for name in order}
        finally:
            stop.set()  # after an error or Ctrl-C the other files need not be finished
    tensors = {tensor.name: tensor for name in wanted for tensor in done[name][1]}
    files = {name: done[name][0] for name in wanted}
    return Scan(files, tensors, identical_tensors(checkpoint, tensors))


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let a thread that comes back from hashing go on sooner than after Python's five milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(2e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _scan_file(
    checkpoint: Checkpoint,
    name: str,
    header: Header | None,
    tell: Callable[[int], None],
    how: DeepPass,
) -> Scanned:
    try:
        if checkpoint.opener is not None:
            with checkpoint.opener(name) as stream:
                found, unchanged = _read(stream, checkpoint.files[name], name, header, tell, how.stats)
            return found if unchanged else _refuse(checkpoint, name)
        path = checkpoint.root / name
        status = path.stat()
        if status.st_size == checkpoint.files[name]:
            known = how.cache.find(name, status, stats=how.stats)
            if known is not None and _fits(known, header):
                return known
        started = time.time_ns()
        with open_regular(path) as file:
            before = os.fstat(file.fileno())
            found, unchanged = _read(file, checkpoint.files[name], name, header, tell, how.stats)
            after = os.fstat(file.fileno())
        # By its name too: a file that was replaced keeps the identity of the one that is still open.
        if not unchanged or not _identity(before) == _identity(after) == _identity(path.stat()):
            _refuse(checkpoint, name)
        how.cache.keep(found, before, started, stats=how.stats)
        return found
    except OSError as error:
        raise UnreadableError(
            f"{quoted(name)} of {quoted(checkpoint.source)} cannot be read ({error.strerror or error})",
            hint="check the disk and the permissions of the file",
        ) from error


def _read(
    file: BinaryIO,
    expected: int,
    name: str,
    header: Header | None,
    tell: Callable[[int], None],
    stats: bool,
) -> tuple[Scanned, bool]:
    """What the bytes of ``file`` show, and whether they are those of a file of ``expected`` bytes with
    ``header``."""
    gathered: list[Gatherer] = []
    total, unchanged = 0, True
    with _Workers() as workers:
        if header is not None:
            raw = read_up_to(file, header.data_start)
            workers.hash(raw)
            total += len(raw)
            # What the rules were told of the header must be true of these very bytes.
            unchanged = parse_header(raw, expected, name)[0] == header
            for tensor in sorted(header.tensors.values(), key=lambda each: each.begin) if unchanged else ():
                gathered.append(Gatherer(tensor, name, stats=stats))
                for count in workers.feed(file, tensor.nbytes, gathered[-1]):
                    total += count
                    tell(count)
        for count in workers.feed(file, expected - total) if unchanged else ():
            total += count
            tell(count)
        digest = FileDigest(name, total, workers.finish())
        unchanged = unchanged and total == expected and not file.read(1)
    return (digest, [each.result() for each in gathered]), unchanged


def _refuse(checkpoint: Checkpoint, name: str) -> NoReturn:
    raise UnreadableError(
        f"{quoted(name)} of {quoted(checkpoint.source)} changed while it was read",
        hint="wait until whatever writes it has finished, then run the command again",
    )


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """With the ctime: whoever writes can put the mtime back."""
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_dev)


def _fits(known: Scanned, header: Header | None) -> bool:
    """Whether a kept result is about the tensors of ``header``: belt and braces, for its key says so."""
    tensors = {each.name: (each.dtype, each.shape) for each in known[1]}
    wanted = {} if header is None else header.tensors
    return tensors == {name: (each.dtype, each.shape) for name, each in wanted.items()}


class _StoppedError(Exception):
    """Another file could not be read, or the user gave up."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """Bytes on their way through the two workers, and who looks at their numbers."""

    data: memoryview
    gatherer: Gatherer | None


class _Workers:
    """The threads that hash and look at what :meth:`feed` reads, in its order.

    The reader takes one buffer of a ring after the other. Both workers are done with a buffer when each has
    given back as many as were put in before it, which the two semaphores count.
    """

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self._ring = [memoryview(bytearray(CHUNK)) for _ in range(_BUFFERS)]
        self._next = 0
        self._error: BaseException | None = None
        self._jobs: list[tuple[SimpleQueue[_Piece | None], threading.Semaphore, threading.Thread]] = []
        for work in (self._hash, self._gather):
            queue: SimpleQueue[_Piece | None] = SimpleQueue()
            free = threading.Semaphore(_BUFFERS)
            thread = threading.Thread(target=self._run, args=(work, queue, free), daemon=True)
            self._jobs.append((queue, free, thread))

    def __enter__(self) -> Self:
        for _, _, thread in self._jobs:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._error is None:
            self._error = error  # what is still queued is not looked at any more
        self._join()

    def hash(self, data: bytes) -> None:
        """Hash the first bytes of the file, before anything was fed."""
        self._sha256.update(data)

    def feed(self, file: BinaryIO, count: int, gatherer: Gatherer | None = None) -> Iterator[int]:
        """Read the next ``count`` bytes and hand them on; yields the size of each buffer. Ends early at the
        end of the file."""
        while count > 0:
            buffer, want, filled = self._buffer(), min(count, CHUNK), 0
            while filled < want and (got := file.readinto(buffer[filled:want])):  # type: ignore[attr-defined]
                filled += got
            piece = _Piece(buffer[:filled], gatherer)
            for queue, _, _ in self._jobs:
                queue.put(piece)
            yield filled
            if filled < want:
                return
            count -= filled

    def finish(self) -> str:
        """Wait for both workers; the sha256 of all bytes, in hex."""
        self._join()
        if self._error is not None:
            raise self._error
        return self._sha256.hexdigest()

    def _buffer(self) -> memoryview:
        for _, free, _ in self._jobs:
            free.acquire()
        if self._error is not None:
            raise self._error
        buffer = self._ring[self._next % _BUFFERS]
        self._next += 1
        return buffer

    def _hash(self, piece: _Piece) -> None:
        self._sha256.update(piece.data)

    def _gather(self, piece: _Piece) -> None:
        if piece.gatherer is not None and len(piece.data):
            piece.gatherer.add(piece.data)

    def _run(
        self, work: Callable[[_Piece], None], queue: SimpleQueue[_Piece | None], free: threading.Semaphore
    ) -> None:
        while (piece := queue.get()) is not None:
            try:
                if self._error is None:
                    work(piece)
            except BaseException as error:  # the reader raises it
                self._error = error
            free.release()

    def _join(self) -> None:
        for queue, _, _ in self._jobs:
            queue.put(None)
        for _, _, thread in self._jobs:
            if thread.ident is not None:
                thread.join()


def _silent(_: int) -> None:
    """Progress that nobody asked for."""
