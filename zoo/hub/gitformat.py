"""Git's three texts, as bytes: trees, commits and annotated tags (git-scm.com/book, "Git Objects").

An object's id is the sha1 of ``"KIND SIZE\\0"`` and its content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

_FILE = b"100644"
_FOLDER = b"40000"


@dataclass(frozen=True, slots=True)
class Commit:
    """``when`` in seconds since 1970 (UTC); ``title`` is the first line of the message."""

    tree: str
    parents: tuple[str, ...]
    author: str
    when: int
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Tag:
    """An annotated tag: the commit that it points to, and its message."""

    commit: str
    name: str
    author: str
    when: int
    message: str


def object_id(kind: str, content: bytes) -> str:
    """The git id of an object: sha1, 40 hex digits."""
    return hashlib.sha1(header(kind, content) + content, usedforsecurity=False).hexdigest()


def header(kind: str, content: bytes) -> bytes:
    return f"{kind} {len(content)}\0".encode()


def tree_bytes(files: Mapping[str, str], folders: Mapping[str, str]) -> bytes:
    """One folder: name -> id of its files (blobs) and folders (trees). Git sorts a folder as if its name
    ended with a slash."""
    entries = [(name.encode(), _FILE, name, oid) for name, oid in files.items()]
    entries += [(name.encode() + b"/", _FOLDER, name, oid) for name, oid in folders.items()]
    return b"".join(
        mode + b" " + name.encode() + b"\0" + bytes.fromhex(oid) for _, mode, name, oid in sorted(entries)
    )


def parse_tree(content: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """The files and folders of one folder, by name."""
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    position = 0
    while position < len(content):
        end = content.index(b"\0", position)
        mode, _, name = content[position:end].partition(b" ")
        position = end + 21
        into = folders if mode == _FOLDER else files
        into[name.decode()] = content[end + 1 : position].hex()
    return files, folders


def commit_bytes(commit: Commit) -> bytes:
    lines = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
    lines += [f"{role} {_person(commit.author, commit.when)}" for role in ("author", "committer")]
    message = commit.title + ("\n\n" + commit.body if commit.body else "")
    return ("\n".join(lines) + "\n\n" + message + "\n").encode()


def parse_commit(content: bytes) -> Commit:
    head, _, message = content.decode().partition("\n\n")
    fields = [line.partition(" ")[::2] for line in head.splitlines()]
    author, when = _parse_person(dict(fields)["author"])
    title, _, body = message.removesuffix("\n").partition("\n\n")
    parents = tuple(value for key, value in fields if key == "parent")
    return Commit(dict(fields)["tree"], parents, author, when, title, body)


def tag_bytes(tag: Tag) -> bytes:
    lines = [f"object {tag.commit}", "type commit", f"tag {tag.name}"]
    lines.append(f"tagger {_person(tag.author, tag.when)}")
    return ("\n".join(lines) + "\n\n" + tag.message + "\n").encode()


def parse_tag(content: bytes) -> Tag:
    head, _, message = content.decode().partition("\n\n")
    fields = dict(line.partition(" ")[::2] for line in head.splitlines())
    author, when = _parse_person(fields["tagger"])
    return Tag(fields["object"], fields["tag"], author, when, message.removesuffix("\n"))


def _person(name: str, when: int) -> str:
    return f"{name} <{name}@hub.invalid> {when} +0000"


def _parse_person(text: str) -> tuple[str, int]:
    name, _, rest = text.partition(" <")
    return name, int(rest.split()[-2])
