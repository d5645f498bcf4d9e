"""Large files: the store (named by sha256, as git-lfs has it), the pointer text in git, and receiving one.

A file is hashed while it is received and gets its name only if sha256 and size are the announced ones.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool

from zoo.hub.disk import Disk
from zoo.hub.errors import bad_request

_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize ([0-9]{1,15})\n"
)
POINTER_LIMIT = 1024  # git-lfs spec.md: a pointer is smaller than this
SIZE_LIMIT = 500 * 10**9  # one file of the Hub: huggingface.co/docs/hub/storage-limits
# The Hub keeps larger files in LFS only: huggingface.co/docs/hub/repositories-getting-started.
REGULAR_LIMIT = 10 * 1024 * 1024
_PIECE = 4 * 1024 * 1024  # bytes that are collected before a thread hashes and writes them


@dataclass(frozen=True, slots=True)
class Pointer:
    """What git holds in place of a large file: its sha256 and size in bytes."""

    sha256: str
    size: int

    def text(self) -> bytes:
        lines = (
            "version https://git-lfs.github.com/spec/v1",
            f"oid sha256:{self.sha256}",
            f"size {self.size}",
        )
        return "".join(f"{line}\n" for line in lines).encode()


def parse_pointer(content: bytes) -> Pointer | None:
    match = _POINTER.fullmatch(content) if len(content) < POINTER_LIMIT else None
    return Pointer(match[1].decode(), int(match[2])) if match else None


class LargeFiles:
    """The ``lfs/objects/`` of one repository."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk

    def path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256[2:4] / sha256

    def size(self, sha256: str) -> int | None:
        """The size in bytes of a stored file, or None."""
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError:
            return None

    async def receive(self, wanted: Pointer, body: AsyncIterator[bytes]) -> None:
        """Store the file that ``body`` brings. Memory stays at a few pieces, whatever the size.

        Raises HubError 400 if it is not the wanted one, OSError if the disk is full. Nothing stays behind
        then.
        """
        temporary = self._disk.new_path()
        digest, size = hashlib.sha256(), 0
        try:
            file = await run_in_threadpool(temporary.open, "xb")
            try:
                async for piece in _pieces(body):
                    size += len(piece)
                    if size > wanted.size:
                        raise bad_request(f"more than the announced {wanted.size} bytes were sent")
                    await run_in_threadpool(_take, piece, digest, file)
                if size != wanted.size or digest.hexdigest() != wanted.sha256:
                    raise bad_request(
                        f"{size} bytes with sha256 {digest.hexdigest()} are not the announced file"
                    )
                await run_in_threadpool(_finish, file)
            finally:
                file.close()
            await run_in_threadpool(self._disk.place, temporary, self.path(wanted.sha256))
        finally:
            temporary.unlink(missing_ok=True)


async def _pieces(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """``body`` in fewer, larger pieces: a change of threads costs more than hashing 64 KiB."""
    collected: list[bytes] = []
    size = 0
    async for chunk in body:
        collected.append(chunk)
        size += len(chunk)
        if size >= _PIECE:
            yield b"".join(collected)
            collected, size = [], 0
    if collected:
        yield b"".join(collected)


def _take(piece: bytes, digest: hashlib._Hash, file: BinaryIO) -> None:
    digest.update(piece)
    file.write(piece)


def _finish(file: BinaryIO) -> None:
    file.flush()
    os.fchmod(file.fileno(), 0o444)
    os.fsync(file.fileno())
