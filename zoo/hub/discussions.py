"""Discussions and pull requests: one JSON file each, replaced as a whole.

A pull request is a reference, ``refs/pr/N``, and a discussion about it. Its commits are read from the
history of the reference, so that the two can never contradict each other.
"""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from zoo.hub.disk import read_json
from zoo.hub.errors import HubError
from zoo.hub.refs import PULL
from zoo.hub.repo import Repo

_DIFF_LIMIT = 64 * 1024


def now() -> str:
    return iso(datetime.now(UTC).timestamp())


def iso(seconds: float) -> str:
    """A time as the Hub writes it: 2026-11-30T12:00:00.000Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def numbers(repo: Repo) -> list[int]:
    """The numbers of all discussions, oldest first."""
    return sorted(int(path.stem) for path in (repo.folder / "discussions").glob("*.json"))


def read(repo: Repo, number: int) -> dict[str, Any]:
    """Raises HubError 404."""
    try:
        found: dict[str, Any] = read_json(repo.folder / "discussions" / f"{number}.json")
    except FileNotFoundError:
        raise HubError(404, "Discussion not found") from None
    return found


def write(repo: Repo, discussion: dict[str, Any]) -> None:
    repo.disk.write_json(repo.folder / "discussions" / f"{discussion['num']}.json", discussion)


def next_number(repo: Repo) -> int:
    """The number of the next discussion. (A reference without a discussion is left by a server that was
    killed between the two; its number is not used again.)"""
    pulls = [int(name.removeprefix(PULL)) for name in repo.refs() if name.startswith(PULL)]
    return max([0, *numbers(repo), *pulls]) + 1


def new(
    repo: Repo, title: str, author: str, description: str, *, status: str, base: str = "", fork: str = ""
) -> dict[str, Any]:
    """A new discussion, not written yet. A pull request has a ``base`` (refs/heads/main), and ``fork``, the
    commit of it that it began from. The caller holds the lock."""
    discussion: dict[str, Any] = {
        "num": next_number(repo),
        "title": title,
        "author": author,
        "status": status,
        "createdAt": now(),
        "base": base,
        "fork": fork,
        "merge": "",
        "events": [],
    }
    if description:
        add_event(discussion, "comment", author, comment_data(description, author))
    return discussion


def add_event(discussion: dict[str, Any], kind: str, author: str, data: dict[str, Any]) -> dict[str, Any]:
    """Append an event; the event."""
    event = {
        "id": secrets.token_hex(12),
        "type": kind,
        "createdAt": now(),
        "author": {"name": author},
        "data": data,
    }
    discussion["events"].append(event)
    return event


def comment_data(text: str, author: str) -> dict[str, Any]:
    # "html" is what the client calls "rendered"; this hub renders nothing, and nobody should run it.
    latest = {"raw": text, "html": "", "updatedAt": now(), "author": {"name": author}}
    return {"edited": False, "hidden": False, "latest": latest, "history": [latest]}


def commits(repo: Repo, discussion: dict[str, Any]) -> list[dict[str, Any]]:
    """The commits of a pull request as events, oldest first."""
    head = repo.resolve(f"{PULL}{discussion['num']}")
    before = {oid for oid, _ in repo.history(discussion["fork"])}
    return [
        {
            "id": oid[:24],
            "type": "commit",
            "createdAt": iso(commit.when),
            "author": {"name": commit.author},
            "data": {"subject": commit.title, "oid": oid},
        }
        for oid, commit in repo.history(head)
        if oid not in before
    ][::-1]


def summary(repo: Repo, discussion: dict[str, Any]) -> dict[str, Any]:
    """A discussion as it stands in a list."""
    return {
        "num": discussion["num"],
        "title": discussion["title"],
        "author": {"name": discussion["author"]},
        "status": discussion["status"],
        "isPullRequest": bool(discussion["base"]),
        "createdAt": discussion["createdAt"],
        "repo": {"name": repo.id, "type": "model"},
        "numComments": sum(event["type"] == "comment" for event in discussion["events"]),
    }


def diff(repo: Repo, old: str, new: str) -> str:
    """What changed between two commits, as a unified diff of the texts in git (pointers, for large files)."""
    before, after = repo.blobs(old), repo.blobs(new)
    text = ""
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path) and len(text) < _DIFF_LIMIT:
            text += f"diff --git a/{path} b/{path}\n"
            text += "".join(
                _hunks(path, *(repo.blob(side[path]) if path in side else b"" for side in (before, after)))
            )
    return text if len(text) < _DIFF_LIMIT else text[:_DIFF_LIMIT] + "\n... (cut)\n"


def _hunks(path: str, old: bytes, new: bytes) -> Iterator[str]:
    # difflib takes quadratic time, and a long or binary file is no reading for a reviewer.
    if b"\0" in old + new or len(old) + len(new) > _DIFF_LIMIT:
        yield f"Binary or long files a/{path} and b/{path} differ\n"
        return
    before, after = (side.decode(errors="replace").splitlines(keepends=True) for side in (old, new))
    for line in difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
