"""Git's loose objects: one zlib file per blob, tree, commit or tag, named by its sha1."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

from zoo.hub.disk import Disk
from zoo.hub.errors import HubError, bad_request
from zoo.hub.gitformat import header, object_id, parse_tree, tree_bytes
from zoo.release.durable import sync_folder


class Objects:
    """The ``objects/`` of one repository. Writing needs the lock of the repository, reading does not."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        self._unsettled: set[Path] = set()

    def write(self, kind: str, content: bytes) -> str:
        """Store an object; its id. What it holds is durable at once, its name after :meth:`settle`."""
        oid = object_id(kind, content)
        path = self._path(oid)
        if not path.exists():
            data = zlib.compress(header(kind, content) + content, 1)
            self._disk.write(path, data, mode=0o444, settle=False)
        # One that is there may be from a server that was killed before it settled.
        self._unsettled.add(path.parent)
        return oid

    def settle(self) -> None:
        """Make the names of all that was written durable: before any reference leads to it."""
        for folder in self._unsettled:
            sync_folder(folder)
        self._disk.sync(self._folder)
        self._unsettled.clear()

    def read(self, kind: str, oid: str) -> bytes:
        """The content of an object, proven by its id.

        Raises:
            KeyError: no object of this kind has this id.
            HubError: 500, the disk does not hold what was written.
        """
        try:
            raw = zlib.decompress(self._path(oid).read_bytes())
        except FileNotFoundError:
            raise KeyError(oid) from None
        except zlib.error:
            raise _damaged(oid) from None
        head, _, content = raw.partition(b"\0")
        if head.partition(b" ")[0] != kind.encode():
            raise KeyError(oid)
        if object_id(kind, content) != oid:
            raise _damaged(oid)
        return content

    def write_tree(self, files: Mapping[str, str]) -> str:
        """Store the trees of ``files`` (path -> blob id); the id of the root.

        Raises HubError 400 if one path is a file and a folder.
        """
        here: dict[str, str] = {}
        below: dict[str, dict[str, str]] = {}
        for path, oid in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                below.setdefault(first, {})[rest] = oid
            else:
                here[first] = oid
        if both := here.keys() & below.keys():
            raise bad_request(f"{min(both)!r} would be a file and a folder")
        folders = {name: self.write_tree(inner) for name, inner in below.items()}
        return self.write("tree", tree_bytes(here, folders))

    def read_tree(self, oid: str, prefix: str = "") -> tuple[dict[str, str], dict[str, str]]:
        """All files and all folders below a tree, by path. Raises KeyError, HubError."""
        here, inner = parse_tree(self.read("tree", oid))
        files = {prefix + name: blob for name, blob in here.items()}
        folders = {prefix + name: tree for name, tree in inner.items()}
        for name, tree in inner.items():
            more_files, more_folders = self.read_tree(tree, f"{prefix}{name}/")
            files |= more_files
            folders |= more_folders
        return files, folders

    def _path(self, oid: str) -> Path:
        return self._folder / oid[:2] / oid[2:]


def _damaged(oid: str) -> HubError:
    return HubError(500, f"The stored object {oid} is damaged: restore it from a backup")
