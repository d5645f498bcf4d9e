"""Branches, tags and pull requests as references."""

from __future__ import annotations

import time
from typing import Any

from starlette.responses import Response

from zoo.hub.discussions import numbers
from zoo.hub.errors import forbidden, no_revision
from zoo.hub.gitformat import Tag
from zoo.hub.http import Call, answer, route
from zoo.hub.names import check_ref_name, check_text
from zoo.hub.refs import BRANCH, PULL, TAG, Ref, refuse_taken
from zoo.hub.repo import Repo
from zoo.hub.rights import readable, writable
from zoo.hub.routes import REPO

_MESSAGE_LIMIT = 65_536


def _refs(call: Call) -> Response:
    repo = readable(call)
    listed: dict[str, list[dict[str, Any]]] = {"branches": [], "tags": [], "converts": []}
    pulls = []
    # A reference without its discussion is what a server left that was killed between the two.
    opened = {f"{PULL}{number}" for number in numbers(repo)}
    for full_name, ref in repo.refs().items():
        item = {"name": full_name.split("/", 2)[2], "ref": full_name, "targetCommit": ref.commit}
        if full_name.startswith(TAG):
            listed["tags"].append(item | _message(repo, ref))
        elif full_name.startswith(BRANCH):
            listed["branches"].append(item)
        elif full_name in opened:
            pulls.append(item)
    return answer(listed | ({"pullRequests": pulls} if call.flag("include_prs") else {}))


def _message(repo: Repo, ref: Ref) -> dict[str, str]:
    """The message of an annotated tag. (The Hub keeps it, and lists it nowhere.)"""
    return {"message": repo.tag(ref.tag).message} if ref.tag else {}


def _make_tag(call: Call) -> Response:
    repo, user = writable(call)
    data = call.json()
    name = check_ref_name(data.get("tag"))
    message = check_text(data.get("message") or "", "The message", _MESSAGE_LIMIT)
    with repo.lock:
        commit = repo.resolve(call.path["rev"])
        refs = repo.refs()
        refuse_taken(refs, TAG + name)
        tag = repo.write_tag(Tag(commit, name, user.name, int(time.time()), message)) if message else ""
        repo.write_refs(refs | {TAG + name: Ref(commit, tag)})
    return answer({"name": name, "ref": TAG + name, "targetCommit": commit})


def _make_branch(call: Call) -> Response:
    repo, _ = writable(call)
    name = check_ref_name(call.path["branch"])
    start = check_text(call.json().get("startingPoint") or "main", "startingPoint", 250)
    with repo.lock:
        refs = repo.refs()
        refuse_taken(refs, BRANCH + name)
        commit = repo.resolve(start)
        repo.write_refs(refs | {BRANCH + name: Ref(commit)})
    return answer({"name": name, "ref": BRANCH + name, "targetCommit": commit})


def _delete_tag(call: Call) -> Response:
    return _delete(call, TAG + call.path["tag"])


def _delete_branch(call: Call) -> Response:
    if call.path["branch"] == "main":
        raise forbidden("The branch main cannot be deleted")
    return _delete(call, BRANCH + call.path["branch"])


def _delete(call: Call, full_name: str) -> Response:
    repo, _ = writable(call)
    with repo.lock:
        refs = repo.refs()
        if refs.pop(full_name, None) is None:
            raise no_revision(full_name.split("/", 2)[2][:200])
        repo.write_refs(refs)
    return answer({})


def _super_squash(call: Call) -> Response:
    writable(call)
    raise forbidden("History is immutable on this hub: commits are never squashed")


ROUTES = [
    route("GET", f"{REPO}/refs", _refs),
    route("POST", f"{REPO}/tag/{{rev}}", _make_tag),
    route("DELETE", f"{REPO}/tag/{{tag}}", _delete_tag),
    route("POST", f"{REPO}/branch/{{branch}}", _make_branch),
    route("DELETE", f"{REPO}/branch/{{branch}}", _delete_branch),
    route("POST", f"{REPO}/super-squash/{{rev}}", _super_squash),
]
