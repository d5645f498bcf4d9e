"""Discussions and pull requests: open, list, read, comment, change status and title, merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from zoo.hub import discussions
from zoo.hub.errors import HubError, bad_request, exists, forbidden
from zoo.hub.http import Call, answer, route
from zoo.hub.merge import try_merge
from zoo.hub.names import check_text
from zoo.hub.refs import BRANCH, PULL, Ref
from zoo.hub.repo import Repo
from zoo.hub.rights import contributable, readable, writable
from zoo.hub.routes import REPO
from zoo.hub.users import Identity

_PAGE = 50
_COMMENT = 65_536
_MAIN = BRANCH + "main"


def _list(call: Call) -> Response:
    repo = readable(call)
    kind, status, author = call.query("type", "all"), call.query("status", "all"), call.query("author")
    found = []
    for number in reversed(discussions.numbers(repo)):
        item = discussions.summary(repo, discussions.read(repo, number))
        closed = item["status"] in ("closed", "merged")
        if (
            (kind == "all" or item["isPullRequest"] == (kind == "pull_request"))
            and (status == "all" or closed == (status == "closed"))
            and (not author or item["author"]["name"] == author)
        ):
            found.append(item)
    page = call.query("p", "0")
    start = int(page) * _PAGE if page.isascii() and page.isdigit() and len(page) < 9 else 0
    return answer({"discussions": found[start : start + _PAGE], "count": len(found), "start": start})


def _open(call: Call) -> Response:
    repo, user = contributable(call)
    data = call.json()
    title = _title(data)
    description = check_text(data.get("description") or "", "The description", _COMMENT)
    with repo.lock:
        if not data.get("pullRequest"):
            discussion = discussions.new(repo, title, user.name, description, status="open")
        else:
            refs = repo.refs()
            fork = refs[_MAIN].commit
            discussion = discussions.new(
                repo, title, user.name, description, status="draft", base=_MAIN, fork=fork
            )
            repo.write_refs(refs | {f"{PULL}{discussion['num']}": Ref(fork)})
        discussions.write(repo, discussion)
    number = discussion["num"]
    url = f"{call.base_url}/{repo.id}/discussions/{number}"
    return answer({"num": number, "url": url, "pullRequest": bool(discussion["base"])})


def _title(data: dict[str, Any]) -> str:
    title = check_text(data.get("title"), "The title", 200).strip()
    if len(title) < 3:
        raise bad_request("The title must have at least 3 characters")
    return title


def _details(call: Call) -> Response:
    repo = readable(call)
    discussion = discussions.read(repo, _number(call))
    details = discussions.summary(repo, discussion)
    events = list(discussion["events"])
    if discussion["base"]:
        events += discussions.commits(repo, discussion)
        head = repo.resolve(f"{PULL}{discussion['num']}")
        details["changes"] = {"base": discussion["base"], "mergeCommitId": discussion["merge"] or None}
        details["filesWithConflicts"] = _conflicts(repo, discussion, head)
        details["diffUrl"] = f"{call.base_url}/{repo.id}/discussions/{discussion['num']}/files.diff"
        if call.flag("diff"):
            details["diff"] = discussions.diff(repo, discussion["fork"], head)
    details["events"] = sorted(events, key=lambda event: event["createdAt"])
    return answer(details)


def _conflicts(repo: Repo, discussion: dict[str, Any], head: str) -> list[str]:
    base = repo.refs().get(discussion["base"])
    if base is None or discussion["status"] in ("merged", "closed"):
        return []
    return try_merge(repo, base.commit, head)[1]


def _number(call: Call) -> int:
    text = call.path["number"]
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HubError(404, "Discussion not found")
    return int(text)


Change = Callable[[Repo, dict[str, Any], Identity, dict[str, Any]], dict[str, Any]]


def _changing(change: Change) -> Callable[[Call], Response]:
    """A route that changes one discussion, under the lock of its repository."""

    def handler(call: Call) -> Response:
        repo, user = contributable(call)
        with repo.lock:
            discussion = discussions.read(repo, _number(call))
            result = change(repo, discussion, user, call.json())
            discussions.write(repo, discussion)
        return answer(result)

    return handler


def _comment(repo: Repo, discussion: dict[str, Any], user: Identity, data: dict[str, Any]) -> dict[str, Any]:
    text = check_text(data.get("comment"), "The comment", _COMMENT)
    if not text.strip():
        raise bad_request("The comment is empty")
    event = discussions.add_event(discussion, "comment", user.name, discussions.comment_data(text, user.name))
    return {"newMessage": event}


def _edit(call: Call) -> Response:
    """Another text for a comment, by whoever wrote it. The earlier ones stay in its history."""
    repo, user = contributable(call)
    text = check_text(call.json().get("content"), "The comment", _COMMENT)
    if not text.strip():
        raise bad_request("The comment is empty")
    with repo.lock:
        discussion = discussions.read(repo, _number(call))
        found = [each for each in discussion["events"] if each["id"] == call.path["comment"]]
        if not found or found[0]["type"] != "comment":
            raise HubError(404, "Comment not found")
        if found[0]["author"]["name"] != user.name:
            raise forbidden(f"Only {found[0]['author']['name']} may edit this comment")
        edited = discussions.comment_data(text, user.name)
        history = [*found[0]["data"]["history"], edited["latest"]]
        found[0]["data"] = {**edited, "edited": True, "history": history}
        discussions.write(repo, discussion)
    return answer({"updatedComment": found[0]})


def _status(repo: Repo, discussion: dict[str, Any], user: Identity, data: dict[str, Any]) -> dict[str, Any]:
    status = data.get("status")
    _check_responsible(repo, discussion, user)
    if status not in ("open", "closed"):
        raise bad_request("status must be open or closed")
    if discussion["status"] in ("merged", status):
        raise bad_request(f"It is {discussion['status']} already")
    discussion["status"] = status
    new = {"newStatus": discussions.add_event(discussion, "status-change", user.name, {"status": status})}
    if comment := data.get("comment"):
        _comment(repo, discussion, user, {"comment": comment})
    return new


def _rename(repo: Repo, discussion: dict[str, Any], user: Identity, data: dict[str, Any]) -> dict[str, Any]:
    _check_responsible(repo, discussion, user)
    old, discussion["title"] = discussion["title"], _title(data)
    change = {"from": old, "to": discussion["title"]}
    return {"newTitle": discussions.add_event(discussion, "title-change", user.name, change)}


def _check_responsible(repo: Repo, discussion: dict[str, Any], user: Identity) -> None:
    if user.name != discussion["author"] and not user.belongs_to(repo.owner):
        raise forbidden(f"Only {discussion['author']} and the members of {repo.owner} may do this")


def _merge(call: Call) -> Response:
    repo, user = writable(call)
    with repo.lock:
        discussion = discussions.read(repo, _number(call))
        if not discussion["base"]:
            raise bad_request("It is no pull request")
        if discussion["status"] != "open":
            hint = ": set its status to open first" if discussion["status"] == "draft" else ""
            raise bad_request(f"The pull request is {discussion['status']}{hint}")
        discussion["merge"] = _merge_commit(repo, discussion, user)
        discussion["status"] = "merged"
        discussions.add_event(discussion, "status-change", user.name, {"status": "merged"})
        if comment := call.json().get("comment"):
            _comment(repo, discussion, user, {"comment": comment})
        discussions.write(repo, discussion)
    return answer({"mergeCommitId": discussion["merge"]})


def _merge_commit(repo: Repo, discussion: dict[str, Any], user: Identity) -> str:
    """Add what the pull request changes to the base branch, as one commit (the Hub squashes too); that
    commit. If a server was killed after it had moved the branch, and before it could say so, it is the one
    that was made then.

    Raises HubError 400 or 409.
    """
    refs = repo.refs()
    ref = f"{PULL}{discussion['num']}"
    head, base = refs[ref].commit, refs.get(discussion["base"])
    if base is None:
        raise bad_request(f"The branch {discussion['base']} was deleted")
    if head == discussion["fork"]:
        raise bad_request("The pull request has no commits")
    title = f"{discussion['title']} (#{discussion['num']})"
    for oid, commit in repo.history(base.commit):
        if commit.title.endswith(f"(#{discussion['num']})") and f"({head})" in commit.body:
            return oid
    files, conflicts = try_merge(repo, base.commit, head)
    if conflicts:
        raise exists(f"Conflicts in: {', '.join(conflicts[:10])}", filesWithConflicts=conflicts)
    merge = repo.write_commit(files, (base.commit,), user.name, title, _merge_body(repo, discussion))
    repo.write_refs(refs | {discussion["base"]: Ref(merge)})
    return merge


def _merge_body(repo: Repo, discussion: dict[str, Any]) -> str:
    """The commits of a pull request and who made them, as the Hub lists them in a merge."""
    merged = discussions.commits(repo, discussion)
    lines = [f"- {event['data']['subject']} ({event['data']['oid']})" for event in merged]
    authors = dict.fromkeys(event["author"]["name"] for event in merged)
    return "\n".join([*lines, "", *(f"Co-authored-by: {name} <{name}@hub.invalid>" for name in authors)])


_ONE = f"{REPO}/discussions/{{number}}"
ROUTES = [
    route("GET", f"{REPO}/discussions", _list),
    route("POST", f"{REPO}/discussions", _open),
    route("GET", _ONE, _details),
    route("POST", f"{_ONE}/comment", _changing(_comment)),
    route("POST", f"{_ONE}/comment/{{comment}}/edit", _edit),
    route("POST", f"{_ONE}/status", _changing(_status)),
    route("POST", f"{_ONE}/title", _changing(_rename)),
    route("POST", f"{_ONE}/merge", _merge),
]
