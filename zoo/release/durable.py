"""Writing that survives a crash: content first, then its name, then the folder that holds the name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from zoo.checkpoint.content import open_regular, read_up_to

_CHUNK = 1024 * 1024


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable (man 2 fsync: a new file also needs an fsync of its directory)."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def store(content: Path | bytes, path: Path) -> None:
    """Write a new read-only file at ``path``, durably: ``content``, or a copy of that file."""
    with path.open("xb") as file:
        if isinstance(content, bytes):
            file.write(content)
        else:
            with open_regular(content) as source:
                shutil.copyfileobj(source, file, _CHUNK)
        file.flush()
        os.fchmod(file.fileno(), 0o444)
        os.fsync(file.fileno())


def holds(path: Path, content: Path | bytes) -> bool:
    """Whether the file at ``path`` is, byte for byte, ``content`` or that file. It is read from the disk and
    not from the cache, where the system allows it."""
    with open_regular(path) as copy:
        _forget(copy.fileno())
        if isinstance(content, bytes):
            return read_up_to(copy, len(content) + 1) == content
        with open_regular(content) as source:
            while chunk := read_up_to(source, _CHUNK):
                if read_up_to(copy, len(chunk)) != chunk:
                    return False
        return not copy.read(1)


def identity(path: Path) -> tuple[int, ...]:
    """What changes whenever the file does: device, inode, size, and both times to the nanosecond. An edit of
    the same size can put the mtime back, but not the ctime."""
    status = path.stat()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _forget(descriptor: int) -> None:
    """Drop what the system caches of a file (Linux)."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
