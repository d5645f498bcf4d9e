"""What a pass over every byte found, kept for the next command: a file that did not change is not read twice.

An entry belongs to one state of one file: device, inode, size, and the times of its last change of content
(mtime) and of anything about it (ctime), to the nanosecond. A file system's clock ticks coarsely, so a file
that was written just before it was read could be written again within the same tick and look the same: such
a result is not kept.

The folder is ``$XDG_CACHE_HOME/draft-zoo/scans`` (``~/.cache``), private to its owner; losing it costs time,
nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zoo import __version__
from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.numbers import Moments, Sample, TensorScan
from zoo.digests import FileDigest, canonical_json, sha256_hex

_FORMAT = 2  # raise it when what a scan says of the same bytes changes
_TICK_NS = 2_000_000_000  # the coarsest clock of a file system in use, FAT's
_LIMIT = 64 * 1024 * 1024
_KEPT = 500

Scanned = tuple[FileDigest, list[TensorScan]]


class ScanCache:
    """The results in ``folder``; with None, nothing is found or kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, name: str, status: os.stat_result, *, stats: bool) -> Scanned | None:
        """What a pass found in the file of this state, whatever it was called then."""
        for with_stats in {stats, True}:
            if self._folder is None:
                return None
            try:
                raw = self._own(self._folder / self._key(status, stats=with_stats))
                found = _read(json.loads(raw), name)
            except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
                continue  # what nobody can have written counts for nothing
            if found[0].size == status.st_size:
                return found
        return None

    def keep(self, found: Scanned, status: os.stat_result, started_ns: int, *, stats: bool) -> None:
        """Keep what a pass found that began at ``started_ns`` (time.time_ns()). Failing to is no error."""
        if self._folder is None or started_ns - max(status.st_mtime_ns, status.st_ctime_ns) < _TICK_NS:
            return
        digest, tensors = found
        document = {"file": asdict(digest), "tensors": [asdict(each) for each in tensors]}
        with suppress(OSError, ValueError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_private(self._folder.stat()):
                return
            path = self._folder / self._key(status, stats=stats)
            beside = path.with_suffix(f".{os.getpid()}")
            text = json.dumps(document).encode()
            beside.write_bytes(sha256_hex(text).encode() + b"\n" + text)
            beside.replace(path)
            self._prune()

    def _own(self, path: Path) -> bytes:
        """The content of an entry that the user wrote, and that is as it was written.

        Raises:
            OSError, ValueError: it is not there, another may write to it, or it is damaged.
        """
        assert self._folder is not None
        if not _is_private(self._folder.stat()):
            raise ValueError("another user may write to the cache")
        with open_regular(path) as file:
            if not _is_private(os.fstat(file.fileno())):
                raise ValueError("another user may write to the entry")
            digest, _, raw = read_up_to(file, _LIMIT).partition(b"\n")
        if digest.decode("ascii", "replace") != sha256_hex(raw):
            raise ValueError("the entry is damaged")
        return raw

    def _key(self, status: os.stat_result, *, stats: bool) -> str:
        state = [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        # Nanoseconds do not fit a JSON number of every reader: as text.
        return sha256_hex(canonical_json([__version__, _FORMAT, stats, *map(str, state)]))

    def _prune(self) -> None:
        assert self._folder is not None
        entries = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in entries[_KEPT:]:
            path.unlink(missing_ok=True)


NO_CACHE = ScanCache(None)


def cache_folder() -> Path | None:
    """Where the results are kept for the user who runs the command; None if that user has no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(base) if base.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        return None
    return home / "draft-zoo" / "scans"


def user_cache() -> ScanCache:
    """The cache of the user who runs the command."""
    return ScanCache(cache_folder())


def _is_private(status: os.stat_result) -> bool:
    """Whether only the user who runs the command can write there."""
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _read(document: Any, name: str) -> Scanned:
    file, tensors = document["file"], document["tensors"]
    digest = FileDigest(name, int(file["size"]), str(file["sha256"]))
    return digest, [_tensor(each, name) for each in _sequence(tensors)]


def _tensor(entry: dict[str, Any], name: str) -> TensorScan:
    moments, sample = entry.pop("moments"), entry.pop("sample")
    entry |= {"file": name, "shape": tuple(entry["shape"])}
    return TensorScan(
        **entry,
        sample=None if sample is None else Sample(**sample),
        moments=None if moments is None else Moments(**moments),
    )


def _sequence(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value
