"""Committing: which files go where (preupload), and the commit itself."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from zoo.hub import commits, discussions
from zoo.hub.errors import bad_request, forbidden
from zoo.hub.http import COMMIT_BODY, Call, answer, route
from zoo.hub.names import check_path
from zoo.hub.patterns import is_ignored, upload_mode
from zoo.hub.refs import BRANCH, PULL, Ref
from zoo.hub.repo import Repo
from zoo.hub.rights import contributable
from zoo.hub.routes import REPO
from zoo.hub.users import Identity

_PREUPLOAD_FILES = 1000  # the client sends 256


def _preupload(call: Call) -> Response:
    repo, _ = contributable(call)
    data = call.json()
    files = data.get("files")
    if not isinstance(files, list) or len(files) > _PREUPLOAD_FILES:
        raise bad_request(f"files must be a list of at most {_PREUPLOAD_FILES}")
    commit = repo.resolve(call.path["rev"])
    ignore = data.get("gitIgnore")
    ignored = ignore.encode() if isinstance(ignore, str) else repo.text(commit, ".gitignore") or b""
    attributes = repo.text(commit, ".gitattributes") or b""
    present = repo.tree(commit).files
    answers = []
    for file in files:
        if not isinstance(file, dict) or not isinstance(file.get("size"), int):
            raise bad_request("A file needs a path and a size")
        path = check_path(file.get("path"))
        found: dict[str, Any] = {
            "path": path,
            "uploadMode": upload_mode(path, file["size"], file.get("sample"), attributes),
            "shouldIgnore": is_ignored(path, ignored),
        }
        if path in present:
            there = present[path]
            found["oid"] = there.lfs.sha256 if there.lfs else there.oid
        answers.append(found)
    return answer({"files": answers, "commitOid": commit})


def _commit(call: Call) -> Response:
    repo, user = contributable(call)
    request = commits.parse(call.body)
    ref = commits.branch_of(repo, call.path["rev"])
    if call.flag("create_pr"):
        return _commit_to_new_pull_request(call, repo, user, request, ref)
    with repo.lock:
        _check_rights(repo, user, ref)
        commit = commits.advance(repo, ref, request, user.name)
    return answer(_committed(call, repo, commit))


def _check_rights(repo: Repo, user: Identity, ref: str) -> None:
    """Members commit everywhere, others to pull requests of their own; nobody to one that is done.

    Raises HubError.
    """
    own = False
    if ref.startswith(PULL):
        discussion = discussions.read(repo, int(ref.removeprefix(PULL)))
        own = discussion["author"] == user.name
        if discussion["status"] in ("merged", "closed"):
            raise forbidden(f"The pull request is {discussion['status']}")
    if not own and not user.belongs_to(repo.owner):
        raise forbidden(
            f"{user.name} is not a member of {repo.owner}: pass create_pr=1 to propose the commit"
        )


def _commit_to_new_pull_request(
    call: Call, repo: Repo, user: Identity, request: commits.Request, ref: str
) -> Response:
    if not ref.startswith(BRANCH):
        raise bad_request("A pull request is opened against a branch")
    with repo.lock:
        refs = repo.refs()
        fork = refs[ref].commit
        commit = commits.write(repo, fork, request, user.name)
        discussion = discussions.new(
            repo, request.title, user.name, request.description, status="open", base=ref, fork=fork
        )
        repo.write_refs(refs | {f"{PULL}{discussion['num']}": Ref(commit)})
        discussions.write(repo, discussion)
    url = f"{call.base_url}/{repo.id}/discussions/{discussion['num']}"
    return answer(_committed(call, repo, commit) | {"pullRequestUrl": url})


def _committed(call: Call, repo: Repo, commit: str) -> dict[str, Any]:
    url = f"{call.base_url}/{repo.id}/commit/{commit}"
    return {"success": True, "commitOid": commit, "commitUrl": url, "hookOutput": ""}


ROUTES = [
    route("POST", f"{REPO}/preupload/{{rev}}", _preupload),
    route("POST", f"{REPO}/commit/{{rev}}", _commit, COMMIT_BODY),
]
