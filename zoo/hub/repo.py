"""One repository: its settings, revisions and files. A bare git repository with an lfs store beside it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from zoo.hub.disk import Disk, read_json
from zoo.hub.errors import HubError, no_revision
from zoo.hub.gitformat import Commit, Tag, commit_bytes, parse_commit, parse_tag, tag_bytes
from zoo.hub.lfs import LargeFiles, Pointer, parse_pointer
from zoo.hub.names import COMMIT
from zoo.hub.objects import Objects
from zoo.hub.refs import BRANCH, TAG, Ref, read_refs, write_refs


@dataclass(frozen=True, slots=True)
class Settings:
    """``gated`` is False, ``"auto"`` or ``"manual"``; ``created`` in seconds since 1970."""

    private: bool
    gated: bool | str
    created: int


@dataclass(frozen=True, slots=True)
class File:
    """``oid`` is the git id of the blob (of the pointer, for a large file), ``size`` the file's, in bytes."""

    oid: str
    size: int
    lfs: Pointer | None


@dataclass(frozen=True, slots=True)
class Tree:
    """All of one commit: its files, and the git ids of its folders, by path."""

    files: Mapping[str, File]
    folders: Mapping[str, str]


class Repo:
    """A repository in ``folder``. Whoever changes it holds ``lock``; readers need none, because references
    and settings are replaced as a whole and nothing else ever changes."""

    def __init__(self, name: str, folder: Path, disk: Disk) -> None:
        self.id = name
        self.folder = folder
        self.disk = disk
        self.lock = threading.RLock()
        self.objects = Objects(folder / "objects", disk)
        self.large = LargeFiles(folder / "lfs" / "objects", disk)
        # What an id names never changes, so it may be remembered.
        self._file = lru_cache(4096)(self._read_file)
        self._tree = lru_cache(16)(self._read_tree)
        self._commit = lru_cache(4096)(self._read_commit)

    @property
    def owner(self) -> str:
        return self.id.partition("/")[0]

    # Settings

    def settings(self) -> Settings:
        """Raises HubError 404 if the repository was deleted meanwhile."""
        try:
            data = read_json(self.folder / "repo.json")
        except FileNotFoundError:
            raise HubError(404, "Repository not found", code="RepoNotFound") from None
        return Settings(data["private"], data["gated"], data["created"])

    def write_settings(self, settings: Settings) -> None:
        self.disk.write_json(self.folder / "repo.json", asdict(settings))

    # References and commits

    def refs(self) -> dict[str, Ref]:
        try:
            return read_refs(self.folder)
        except FileNotFoundError:
            raise HubError(404, "Repository not found", code="RepoNotFound") from None

    def write_refs(self, refs: Mapping[str, Ref]) -> None:
        """Replace all references. What they lead to is made durable first."""
        self.objects.settle()
        write_refs(self.folder, refs, self.disk)

    def resolve(self, revision: str) -> str:
        """The commit that a branch, a tag, ``refs/pr/N`` or 40 hex digits mean. Raises HubError 404."""
        refs = self.refs()
        for name in (TAG + revision, BRANCH + revision, revision):
            if name in refs:
                return refs[name].commit
        if COMMIT.fullmatch(revision):
            try:
                self.commit(revision)
            except KeyError:
                raise no_revision(revision) from None
            return revision
        raise no_revision(revision)

    def commit(self, oid: str) -> Commit:
        """Raises KeyError."""
        return self._commit(oid)

    def write_commit(
        self, files: Mapping[str, str], parents: tuple[str, ...], author: str, title: str, body: str = ""
    ) -> str:
        """Store a commit of ``files`` (path -> blob id); its id. No reference leads to it yet."""
        commit = Commit(self.objects.write_tree(files), parents, author, int(time.time()), title, body)
        return self.objects.write("commit", commit_bytes(commit))

    def write_tag(self, tag: Tag) -> str:
        return self.objects.write("tag", tag_bytes(tag))

    def tag(self, oid: str) -> Tag:
        return parse_tag(self.objects.read("tag", oid))

    def history(self, start: str) -> Iterator[tuple[str, Commit]]:
        """``start`` and all commits before it, newest first."""
        seen = {start}
        waiting = [(-self.commit(start).when, 0, start)]
        while waiting:
            oid = heappop(waiting)[2]
            commit = self.commit(oid)
            yield oid, commit
            for parent in commit.parents:
                if parent not in seen:
                    seen.add(parent)
                    heappush(waiting, (-self.commit(parent).when, len(seen), parent))

    # Files

    def tree(self, commit: str) -> Tree:
        """Everything in a commit."""
        return self._tree(self.commit(commit).tree)

    def blob(self, oid: str) -> bytes:
        return self.objects.read("blob", oid)

    def blobs(self, commit: str) -> dict[str, str]:
        """Path -> blob id of a commit: what a new commit starts from."""
        return {path: file.oid for path, file in self.tree(commit).files.items()}

    def text(self, commit: str, path: str) -> bytes | None:
        """The content of a file that is kept in git, or None: not there, or a large file."""
        file = self.tree(commit).files.get(path)
        return None if file is None or file.lfs else self.blob(file.oid)

    def _read_commit(self, oid: str) -> Commit:
        return parse_commit(self.objects.read("commit", oid))

    def _read_tree(self, oid: str) -> Tree:
        files, folders = self.objects.read_tree(oid)
        return Tree({path: self._file(blob) for path, blob in sorted(files.items())}, folders)

    def _read_file(self, oid: str) -> File:
        content = self.blob(oid)
        pointer = parse_pointer(content)
        return File(oid, pointer.size if pointer else len(content), pointer)


def make_repo(folder: Path, disk: Disk, settings: Settings, author: str, first: Mapping[str, bytes]) -> None:
    """Write a new repository to ``folder``, with ``first`` (path -> content) as its first commit."""
    for name in ("objects", "refs"):
        (folder / name).mkdir(parents=True)
    disk.write(folder / "HEAD", f"ref: {BRANCH}main\n".encode())
    disk.write(folder / "config", b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    repo = Repo("", folder, disk)
    files = {path: repo.objects.write("blob", content) for path, content in first.items()}
    commit = repo.write_commit(files, (), author, "initial commit")
    repo.write_refs({BRANCH + "main": Ref(commit)})
    repo.write_settings(settings)


def as_json(value: Any) -> bytes:
    """``value`` as JSON that every parser takes (no NaN)."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode()
