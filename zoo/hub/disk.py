"""Writing so that what was acknowledged is still there after a SIGKILL or a power cut.

Content first (a file in ``tmp/``, fsync), then its name (rename), then every folder above it. ``tmp/`` is on
the same file system, and is emptied when the server starts: nothing half-written has a name that counts.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

from zoo.release.durable import sync_folder


class Disk:
    """The directory of a hub, as something to write to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.scratch = root / "tmp"

    def new_path(self) -> Path:
        """A path in ``tmp/`` that nothing has."""
        return self.scratch / secrets.token_hex(12)

    def write(self, path: Path, data: bytes, *, mode: int = 0o644, settle: bool = True) -> None:
        """Give ``path`` the content ``data``, durably; readers see the old content or the new one. Without
        ``settle``, the caller makes the names of folders durable: :meth:`sync` of each."""
        temporary = self.new_path()
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            self.place(temporary, path, settle=settle)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def write_json(self, path: Path, value: Any, *, mode: int = 0o644) -> None:
        self.write(path, json.dumps(value, indent=1).encode(), mode=mode)

    def place(self, temporary: Path, path: Path, *, settle: bool = True) -> None:
        """Rename what is complete and synced to ``path``, durably. A folder must not be there yet."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.replace(path)
        if settle:
            self.sync(path.parent)

    def sync(self, folder: Path) -> None:
        """Make the names in ``folder`` durable, and its own, up to the root. (A folder without changes
        costs next to nothing.)"""
        sync_folder(folder)
        if folder != self.root:
            self.sync(folder.parent)

    def retire(self, folder: Path) -> Path:
        """Take a folder's name away, durably; where it is now, in ``tmp/``, to be removed at leisure."""
        doomed = self.new_path()
        folder.replace(doomed)
        self.sync(folder.parent)
        return doomed

    def empty_scratch(self) -> None:
        """Remove what a killed server left half-done."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(exist_ok=True)


def read_json(path: Path) -> Any:
    """The JSON value in ``path``. Raises OSError, ValueError."""
    return json.loads(path.read_bytes())
