"""Writing that survives a crash: content first, then its name, then the folder that holds the name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.digests import FileDigest

_CHUNK = 1024 * 1024


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable (man 2 fsync: a new file also needs an fsync of its directory)."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def store(content: Path | bytes, path: Path, name: str) -> FileDigest:
    """Write a new read-only file at ``path``, durably, and return the digest of what was written, called
    ``name``."""
    sha256, size = hashlib.sha256(), 0
    with path.open("xb") as file:
        for chunk in _chunks(content):
            sha256.update(chunk)
            size += file.write(chunk)
        file.flush()
        os.fchmod(file.fileno(), 0o444)
        os.fsync(file.fileno())
    return FileDigest(name, size, sha256.hexdigest())


def _chunks(content: Path | bytes) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with open_regular(content) as file:
        while chunk := read_up_to(file, _CHUNK):
            yield chunk
