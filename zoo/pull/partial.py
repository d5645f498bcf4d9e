"""The hidden folder of a download, beside its final place: renamed when all is there and proved, so that a
draft is there as a whole or not at all.

Unlike ``zoo.aside``, a failure leaves it: the next pull of the same goes on where that one stopped; so does a
kill (SIGKILL). Ctrl-C, and SIGTERM and SIGHUP, which are the same to the command, leave nothing.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.release.durable import sync_folder


def refuse_taken(out: Path) -> None:
    """Raises UsageError if something is at ``out``."""
    if os.path.lexists(out) and (not out.is_dir() or any(out.iterdir())):
        what = "is not empty" if out.is_dir() else "is not a folder"
        raise UsageError(f"{quoted(str(out))} {what}", hint="name another folder: --out FOLDER")


@contextmanager
def resumable(out: Path, key: str) -> Iterator[Path]:
    """A hidden folder beside ``out`` that becomes ``out`` if the block succeeds. It may hold what an earlier
    download with the same ``key`` left; that of another key is removed.

    Raises:
        UsageError: something is at ``out``, or another command downloads the same there.
    """
    out = out.resolve()
    refuse_taken(out)
    made = [parent for parent in out.parents if not parent.exists()]
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = out.parent / f".{out.name}.pull-{key[:12]}"
    if folder.is_symlink() or (folder.exists() and folder.stat().st_uid != os.getuid()):
        raise UsageError(f"{quoted(str(folder))} is not yours", hint="name another folder: --out FOLDER")
    folder.mkdir(exist_ok=True)
    descriptor = _locked(folder)
    if descriptor is None:
        raise UsageError(
            f"another command is downloading to {quoted(str(out))}", hint="wait until it is done"
        )
    try:
        _remove_others(out, folder)
        yield folder
        sync_folder(folder)
        folder.rename(out)
        sync_folder(out.parent)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or not holds_a_beginning(folder):
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # not empty: somebody else uses it by now
                for parent in made:
                    parent.rmdir()
        raise
    finally:
        os.close(descriptor)


def holds_a_beginning(folder: Path) -> bool:
    """Whether ``folder`` holds something that is worth going on from: weights, or a part of a file."""
    return any(path.name.endswith((".part", ".safetensors")) for path in folder.rglob("*"))


def _remove_others(out: Path, folder: Path) -> None:
    """Remove what downloads of something else to ``out`` left behind."""
    pattern = re.compile(rf"\.{re.escape(out.name)}\.pull-[0-9a-f]{{12}}")
    with suppress(OSError):  # a folder that can be written to and not read
        for other in out.parent.iterdir():
            if pattern.fullmatch(other.name) and other != folder and not other.is_symlink():
                descriptor = _locked(other)
                if descriptor is not None:
                    shutil.rmtree(other, ignore_errors=True)
                    os.close(descriptor)


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the lock of ``folder`` until it is closed; None if another process does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:  # a file system without locks of folders (NFS): nobody is kept away
        pass
    return descriptor
