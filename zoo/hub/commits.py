"""A commit as the client sends it: lines of JSON, one header and any number of operations."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.hub.cards import problems_of
from zoo.hub.errors import HubError, bad_request, no_entry, no_revision
from zoo.hub.lfs import REGULAR_LIMIT, Pointer, parse_pointer
from zoo.hub.names import COMMIT, SHA256, check_path, check_text
from zoo.hub.refs import BRANCH, PULL, Ref
from zoo.hub.repo import Repo

_FILES_LIMIT = 25_000  # HfApi.create_commit: "limited to 25k LFS files"
_README = "README.md"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be committed: ``parent`` is the commit that the branch must be at, or empty."""

    title: str
    description: str
    parent: str
    operations: tuple[tuple[str, Mapping[str, Any]], ...]


def parse(body: bytes) -> Request:
    """The commit in ``body``. Raises HubError 400."""
    header: Mapping[str, Any] | None = None
    operations = []
    for line in body.split(b"\n"):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            key, value = item["key"], item["value"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise bad_request("A line of the commit is not an object with key and value") from None
        if not isinstance(key, str) or not isinstance(value, dict):
            raise bad_request("A line of the commit is not an object with key and value")
        if key == "header":
            header = value
        elif key in _APPLY:
            operations.append((key, value))
        else:
            raise bad_request(f"Unknown operation in a commit: {key[:40]!r}")
    if header is None:
        raise bad_request("The commit has no header")
    title = " ".join(check_text(header.get("summary"), "The summary", 1000).split())
    description = check_text(header.get("description") or "", "The description", 65_536).strip()
    parent = header.get("parentCommit") or ""
    if parent and not (isinstance(parent, str) and COMMIT.fullmatch(parent)):
        raise bad_request("parentCommit must be 40 hex digits")
    if not title:
        raise bad_request("The summary is empty")
    return Request(title, description, parent, tuple(operations))


def branch_of(repo: Repo, revision: str) -> str:
    """The full name of the reference that ``revision`` lets one commit to. Raises HubError."""
    refs = repo.refs()
    for name in (BRANCH + revision, revision):
        if name in refs and name.startswith((BRANCH, PULL)):
            return name
    repo.resolve(revision)
    raise bad_request(f"{revision}: only a branch or refs/pr/N can be committed to")


def write(repo: Repo, base: str, request: Request, author: str) -> str:
    """Store the commit that ``request`` makes of ``base``; its id. The caller holds the lock.

    Raises:
        HubError: 412, the branch moved; 404, a file to delete is not there; 400, anything else.
    """
    if request.parent and request.parent != base:
        raise HubError(412, "A commit has happened since. Please refresh and try again.")
    files = repo.blobs(base)
    for key, value in request.operations:
        _APPLY[key](repo, files, value)
    if len(files) > _FILES_LIMIT:
        raise bad_request(f"More than {_FILES_LIMIT} files in one repository")
    return repo.write_commit(files, (base,), author, request.title, request.description)


def advance(repo: Repo, ref: str, request: Request, author: str) -> str:
    """Commit ``request`` to the reference ``ref``; the new commit."""
    with repo.lock:
        refs = repo.refs()
        if ref not in refs:  # deleted since it was looked up
            raise no_revision(ref)
        commit = write(repo, refs[ref].commit, request, author)
        repo.write_refs(refs | {ref: Ref(commit)})
    return commit


def _add(repo: Repo, files: dict[str, str], value: Mapping[str, Any]) -> None:
    path = check_path(value.get("path"))
    if value.get("encoding", "utf-8") == "base64":
        try:
            content = base64.b64decode(value.get("content", ""), validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise bad_request(f"{path}: the content is not base64") from None
    else:
        content = check_text(value.get("content"), "The content", REGULAR_LIMIT).encode()
    if len(content) > REGULAR_LIMIT:
        raise bad_request(f"{path}: a file of {len(content)} bytes must be uploaded with LFS")
    pointer = parse_pointer(content)
    if pointer and repo.large.size(pointer.sha256) != pointer.size:
        raise bad_request(f"{path}: LFS pointer pointed to a file that does not exist")
    if path == _README and not pointer and (errors := problems_of(content)[0]):
        raise bad_request("Invalid metadata in README.md: " + "; ".join(errors))
    files[path] = repo.objects.write("blob", content)


def _add_large(repo: Repo, files: dict[str, str], value: Mapping[str, Any]) -> None:
    path = check_path(value.get("path"))
    sha256 = value.get("oid")
    if value.get("algo", "sha256") != "sha256" or not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
        raise bad_request(f"{path}: oid must be a sha256")
    size = repo.large.size(sha256)
    if size is None:
        raise bad_request(f"{path}: LFS pointer pointed to a file that does not exist")
    if value.get("size") not in (None, size):
        raise bad_request(f"{path}: the uploaded file has {size} bytes, not those of the commit")
    files[path] = repo.objects.write("blob", Pointer(sha256, size).text())


def _delete(repo: Repo, files: dict[str, str], value: Mapping[str, Any]) -> None:
    path = check_path(value.get("path"))
    if files.pop(path, None) is None:
        raise no_entry(f"A file with this name doesn't exist: {path}")


def _delete_folder(repo: Repo, files: dict[str, str], value: Mapping[str, Any]) -> None:
    path = value.get("path")
    path = check_path(path.rstrip("/") if isinstance(path, str) else path)
    doomed = [name for name in files if name.startswith(path + "/")]
    if not doomed:
        raise no_entry(f"A folder with this name doesn't exist: {path}")
    for name in doomed:
        del files[name]


_APPLY: Mapping[str, Callable[[Repo, dict[str, str], Mapping[str, Any]], None]] = {
    "file": _add,
    "lfsFile": _add_large,
    "deletedFile": _delete,
    "deletedFolder": _delete_folder,
}
