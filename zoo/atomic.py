"""Writing small files so that a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``: a hidden file beside it, fsync, rename. Folders above are made as needed.

    Whatever stops it (a full disk, Ctrl-C) leaves the old file as it was and nothing half-written behind.
    Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # "x": never through a link or over a file that somebody else put there.
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    # The rename itself is on disk only when the folder is.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write all ``files``, or none: whatever stops it (a full disk, Ctrl-C), what was made by then goes."""
    made: list[Path] = []
    try:
        for path, data in files.items():
            made += [folder for folder in (*reversed(path.parents), path) if not folder.exists()]
            write_atomically(path, data)
    except BaseException:
        for done in reversed(made):
            with suppress(OSError):
                done.rmdir() if done.is_dir() else done.unlink()
        raise
