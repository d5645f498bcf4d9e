"""Every file below a folder, without following a link out of it and without opening anything.

A folder from a pull request or a hub may hold links to ``/etc/shadow``, FIFOs that block a reader for ever,
names that turn a terminal line around, or a million files. Each is a finding, and none of them is read.

Links are normal in one place: a snapshot of the Hugging Face cache, ``CACHE/snapshots/REVISION/``, is a
folder of links into ``CACHE/blobs/``. Those are followed, and end there: a link to a link elsewhere is not.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from zoo.checkpoint.collect import Findings
from zoo.printable import printable, quoted
from zoo.results import Finding

# A draft has about ten files; a sharded target about 200.
ENTRY_LIMIT = 10_000
# Local state of git and of `hf download --local-dir`, which no upload publishes.
_LOCAL_STATE = {".git", ".cache/huggingface"}


@dataclass(slots=True)
class Listing:
    """``files``: POSIX path below the root -> size in bytes, in the order of the names. ``refused``: paths
    that exist but must not be read, each with a finding."""

    files: dict[str, int] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def refuse(self, path: str, code: str, fact: str, hint: str) -> None:
        self.refused.add(path)
        self.report(path, code, fact, hint)

    def report(self, path: str | None, code: str, fact: str, hint: str) -> None:
        found = Findings(path)
        found.add(code, fact, hint)
        self.findings.extend(found.result())


def list_files(root: Path) -> Listing:
    """List the files below ``root``. A folder below it that cannot be read is a finding; OSError if it is
    ``root``."""
    root = root.resolve(strict=True)
    listing = Listing()
    folded: dict[str, str] = {}
    folders, entries = [root], 0
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as scanned:
                found = sorted(islice(scanned, ENTRY_LIMIT + 1 - entries), key=lambda entry: entry.name)
        except OSError as error:
            if folder == root:
                raise
            path = folder.relative_to(root).as_posix()
            fact = f"cannot be read ({error.strerror})"
            listing.refuse(path, "F006", fact, "check the permissions of the folder")
            continue
        entries += len(found)
        for entry in found:
            path = Path(entry.path).relative_to(root).as_posix()
            if path not in _LOCAL_STATE and _has_safe_name(path, folded, listing):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                else:
                    _add(root, path, listing)
        if entries > ENTRY_LIMIT:
            fact = f"the folder has more than {ENTRY_LIMIT:,} files and folders; the rest was not looked at"
            listing.report(None, "X005", fact, "give the folder of one checkpoint, and nothing else in it")
            break
    listing.files = dict(sorted(listing.files.items()))
    return listing


def _has_safe_name(path: str, folded: dict[str, str], listing: Listing) -> bool:
    name = path.rpartition("/")[2]
    if printable(name, keep="") != name or "\\" in name:
        hint = "rename the file, using letters, digits, dot, dash and underscore"
        listing.refuse(path, "X004", "the name holds characters that do not print, or a backslash", hint)
        return False
    # As file systems of macOS and Windows compare names.
    key = unicodedata.normalize("NFC", path).casefold()
    other = folded.setdefault(key, path)
    if other != path:
        fact = f"the name differs from {quoted(other)} only in case or Unicode form"
        listing.report(path, "X003", fact, "rename one of them: other file systems keep only one")
    return True


def _add(root: Path, path: str, listing: Listing) -> None:
    """Put the file, link or special file at ``path`` into ``files``, or refuse it."""
    try:
        target = (root / path).resolve()
        outside = not target.is_relative_to(root) and target.parent != _blobs(root)
        status = None if outside else target.stat()
    except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        hint = "fetch the file again: in a Hugging Face cache, its blob is missing"
        listing.refuse(path, "F005", "a link to a file that does not exist", hint)
        return
    if status is None:
        hint = "replace the link by the file itself"
        listing.refuse(path, "X001", "a link that leads out of the folder; it was not followed", hint)
    elif stat.S_ISDIR(status.st_mode):
        hint = "replace the link by the folder itself"
        listing.refuse(path, "X001", "a link to a folder; it was not followed", hint)
    elif not stat.S_ISREG(status.st_mode):
        listing.refuse(path, "X002", "a FIFO, socket or device; it was not opened", "remove it")
    else:
        listing.files[path] = status.st_size


def _blobs(root: Path) -> Path | None:
    """The ``blobs`` folder of the Hugging Face cache of which ``root`` is a snapshot, or None."""
    return root.parent.parent / "blobs" if root.parent.name == "snapshots" else None
