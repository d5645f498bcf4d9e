"""A local folder that stands for a remote one: every file has its size, and holds of its bytes only those
that were fetched.

The files are sparse: 7 GB of weights take the few kilobytes of their header. What was not fetched reads as
zeros, so nothing but the small files, the headers and the vocabulary maps may be read from it; a deep pass
reads through ``Checkpoint.opener``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from zoo.checkpoint.safetensors import HEADER_LIMIT
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.remote.stream import Stream

# As huggingface_hub reads it: nearly every header is shorter, and the rest costs one more request.
FIRST_BYTES = 100_000
_CHUNK = 1024 * 1024
_LONGEST = 2**63 - 1  # what any file system can hold (off_t)
_UNUSABLE = "do not use this source"


def reserve(root: Path, sizes: Mapping[str, int]) -> None:
    """Make the files of ``sizes`` (POSIX path -> bytes) below ``root``, empty of content.

    Raises:
        UnreadableError: a path leads out of the folder or through a file, a size is that of no file, or the
            disk cannot hold it.
    """
    for name, size in sizes.items():
        if not _is_inside(name):
            raise UnreadableError(
                f"the listing names {quoted(name)}, which is no path of a file in a repository",
                hint=_UNUSABLE,
            )
        if size > _LONGEST:
            raise UnreadableError(f"the listing gives {quoted(name)} a size of no file", hint=_UNUSABLE)
        above = next((str(each) for each in PurePosixPath(name).parents if str(each) in sizes), None)
        if above is not None:
            raise UnreadableError(
                f"the listing names {quoted(above)} as a file, and {quoted(name)} in it", hint=_UNUSABLE
            )
        try:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.truncate(size)
        except (OSError, OverflowError) as error:
            raise UnreadableError(
                f"no place for {quoted(name)} of {size:,} bytes in the temporary folder "
                f"({getattr(error, 'strerror', None) or error})",
                hint="name a folder of a disk with sparse files: TMPDIR=FOLDER",
            ) from error


def fill(path: Path, stream: Stream) -> bytes:
    """Put the bytes of ``stream`` into the file ``path``, at their place. The first 8 of them."""
    first = b""
    with path.open("r+b") as file:
        file.seek(stream.tell())
        while chunk := stream.read(_CHUNK):
            file.write(chunk)
            first += chunk[: 8 - len(first)]
    return first


def header_end(first: bytes, size: int) -> int:
    """Where the header of a weights file of ``size`` bytes ends, by its ``first`` 8 bytes; 0 if they cannot
    be a length."""
    length = int.from_bytes(first, "little")
    return 8 + length if len(first) == 8 and 0 < length <= min(HEADER_LIMIT, size - 8) else 0


def _is_inside(name: str) -> bool:
    """Whether ``name`` is a path that stays in its folder, as git itself demands."""
    parts = name.split("/")
    encodable = not any("\ud800" <= char <= "\udfff" for char in name)
    return (
        encodable
        and "\0" not in name
        and not {"", ".", ".."} & set(parts)
        and not PurePosixPath(name).is_absolute()
    )
