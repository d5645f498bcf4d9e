"""The directory of a hub: its layout, who may serve it, and its repositories."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.errors import UsageError
from zoo.hub.disk import Disk, read_json
from zoo.hub.errors import HubError, exists
from zoo.hub.names import is_name
from zoo.hub.patterns import DEFAULT_ATTRIBUTES
from zoo.hub.repo import Repo, Settings, make_repo
from zoo.hub.users import Users
from zoo.printable import quoted

_FORMAT = "zoo-hub/1"


def prepare(folder: Path) -> Disk:
    """The disk of the hub in ``folder``. What is not there is made, unless the folder holds something else.

    Raises UsageError, OSError.
    """
    marker = folder / "hub.json"
    if not marker.exists():
        # "tmp" and "users" alone: a hub whose making was interrupted.
        if folder.exists() and not {path.name for path in folder.iterdir()} <= {"tmp", "users", "repos"}:
            raise UsageError(
                f"{quoted(str(folder))} holds something, and no hub",
                hint="name an empty folder, or a new one",
            )
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in ("tmp", "users", "repos"):
            (folder / name).mkdir(exist_ok=True, mode=0o700)
        Disk(folder).write_json(marker, {"schema": _FORMAT})
    schema = read_json(marker).get("schema")
    if schema != _FORMAT:
        raise UsageError(
            f"{quoted(str(marker))} is not of schema {_FORMAT}", hint="use the version that made it"
        )
    return Disk(folder)


class Hub:
    """A hub that is being served: its users and its repositories."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.users = Users(disk)
        self.secret = _secret(disk)
        self._repos: dict[str, Repo] = {}
        self._lock = threading.Lock()

    def repo(self, owner: str, name: str) -> Repo | None:
        """The repository ``owner/name``, or None."""
        if not is_name(owner) or not is_name(name):
            return None
        repo_id = f"{owner}/{name}"
        with self._lock:
            return self._open(repo_id)

    def _open(self, repo_id: str) -> Repo | None:
        folder = self._folder(repo_id)
        if not folder.is_dir():
            self._repos.pop(repo_id, None)
            return None
        if repo_id not in self._repos:
            self._repos[repo_id] = Repo(repo_id, folder, self.disk)
        return self._repos[repo_id]

    def repos(self) -> Iterator[Repo]:
        """Every repository, by name."""
        for folder in sorted((self.disk.root / "repos").glob("*/*")):
            repo = self.repo(folder.parent.name, folder.name)
            if repo is not None:
                yield repo

    def create(self, owner: str, name: str, private: bool, author: str, url: str) -> Repo:
        """Make a repository: complete in ``tmp/``, then renamed. Raises HubError 409 with ``url``."""
        repo_id = f"{owner}/{name}"
        with self._lock:
            siblings = self._folder(repo_id).parent
            for other in siblings.iterdir() if siblings.is_dir() else ():
                if other.name.lower() == name.lower():
                    raise exists("You already created this model repo", url=url)
            fresh = self.disk.new_path()
            settings = Settings(private, False, int(time.time()))
            make_repo(fresh, self.disk, settings, author, {".gitattributes": DEFAULT_ATTRIBUTES})
            self.disk.place(fresh, self._folder(repo_id))
            repo = self._open(repo_id)
        if repo is None:
            raise HubError(500, "The new repository is gone")
        return repo

    def delete(self, repo: Repo) -> None:
        """Remove a repository and all it holds."""
        with self._lock, repo.lock:
            self._repos.pop(repo.id, None)
            if not repo.folder.is_dir():
                return
            doomed = self.disk.retire(repo.folder)
        shutil.rmtree(doomed, ignore_errors=True)

    def _folder(self, repo_id: str) -> Path:
        return self.disk.root / "repos" / repo_id


@contextmanager
def served(folder: Path) -> Iterator[Hub]:
    """The hub in ``folder``, as long as this process serves it.

    Raises UsageError if another process does. (The lock is the system's: it ends with the process that holds
    it, however that ends.)
    """
    disk = prepare(folder)
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another server is serving {quoted(str(folder))}", hint="stop it, or name another folder"
            ) from None
        disk.empty_scratch()
        yield Hub(disk)
    finally:
        os.close(lock)


def _secret(disk: Disk) -> bytes:
    """What the addresses of uploads are signed with, so that they are valid after a restart too."""
    path = disk.root / "secret"
    if not path.exists():
        disk.write(path, secrets.token_bytes(32), mode=0o600)
    return path.read_bytes()
