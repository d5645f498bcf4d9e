"""A folder that is there as a whole, or not at all.

It is built beside its final place under a hidden name and renamed when it is complete, so that whatever
stops the command (Ctrl-C, a full disk) leaves nothing behind. What a command left that was killed outright is
removed by the next one for the same place: the lock beside the hidden folder is free then.
"""

from __future__ import annotations

import fcntl
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zoo.errors import UsageError
from zoo.printable import quoted


@contextmanager
def built_aside(out: Path, keep_out_of: Path | None = None) -> Iterator[Path]:
    """A hidden folder beside ``out`` that becomes ``out`` if the block succeeds, and is removed if it does
    not.

    Raises:
        UsageError: ``out`` is a file, is not empty, or lies in the folder ``keep_out_of``, links resolved.
    """
    out = out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        what = "is not empty" if out.is_dir() else "is a file"
        raise UsageError(f"{quoted(str(out))} {what}", hint="name a folder that does not exist yet")
    if keep_out_of is not None and out.is_relative_to(keep_out_of.resolve()):
        raise UsageError(
            f"{quoted(str(out))} is inside {quoted(str(keep_out_of))}, which must stay as it is",
            hint="name a folder outside it",
        )
    made = [parent for parent in out.parents if not parent.exists()]
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):  # a folder that can be written to and not read
            _remove_stale(out)
        with _held(out) as folder:
            folder.mkdir()
            yield folder
            folder.rename(out)
    except BaseException:
        with suppress(OSError):  # not empty: somebody else uses it by now
            for parent in made:
                parent.rmdir()
        raise


@contextmanager
def _held(out: Path) -> Iterator[Path]:
    """The path of a hidden folder beside ``out``, locked while the block runs and gone after it."""
    folder = out.parent / f".{out.name}.{secrets.token_hex(4)}"
    lock = _lock_of(folder)
    try:
        with lock.open("w") as file:
            with suppress(OSError):  # a file system without locks, where nobody finds a stale folder either
                fcntl.flock(file, fcntl.LOCK_EX)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)


def _remove_stale(out: Path) -> None:
    """Remove the hidden folders for ``out`` whose lock nobody holds."""
    pattern = re.compile(rf"\.{re.escape(out.name)}\.[0-9a-f]{{8}}\.lock")
    for lock in out.parent.iterdir():
        if pattern.fullmatch(lock.name):
            with suppress(OSError), lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
                lock.unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    # A file beside the folder: over NFS, flock needs a descriptor that is open for writing (man 2 flock).
    return folder.with_name(f"{folder.name}.lock")
