"""Repositories: list, create, delete, settings, and the check of one's rights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from zoo.hub.errors import bad_request
from zoo.hub.http import Call, answer, next_link, route
from zoo.hub.names import is_name
from zoo.hub.rights import downloadable, is_member, owned_namespace, writable
from zoo.hub.routes import REPO
from zoo.hub.routes.revisions import description

_PAGE = 1000


def _list(call: Call) -> Response:
    search, author = call.query("search").lower(), call.query("author")
    visible = []
    for repo in call.hub.repos():
        if (author and repo.owner.lower() != author.lower()) or search not in repo.id.lower():
            continue
        if not repo.settings().private or is_member(call, repo):
            visible.append(description(repo, repo.resolve("main"), card=call.flag("cardData")))
    wanted = set(call.request.query_params.getlist("filter"))
    found = [item for item in visible if wanted <= set(item["tags"])]
    order = {"createdAt": "createdAt", "lastModified": "lastModified"}.get(call.query("sort"))
    if order is not None:
        found.sort(key=lambda item: str(item[order]), reverse=True)
    start, size = _number(call, "skip", 0), min(_number(call, "limit", _PAGE), _PAGE)
    more = next_link(call, skip=str(start + size)) if start + size < len(found) and size else {}
    return answer(found[start : start + size], headers=more)


def _number(call: Call, name: str, default: int) -> int:
    text = call.query(name) or str(default)
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise bad_request(f"{name} must be a number")
    return int(text)


def _named(call: Call) -> tuple[str, str, dict[str, Any]]:
    """The owner and the name of the repository in the body. Raises HubError."""
    data = call.json()
    if (data.get("type") or "model") != "model":
        raise bad_request("This hub holds models only")
    name = data.get("name")
    owner = data.get("organization") or (call.user.name if call.user else "")
    if isinstance(name, str) and "/" in name:
        owner, _, name = name.partition("/")
    if not is_name(name) or (owner and not is_name(owner)):
        raise bad_request("Invalid name of a repository")
    return owner, str(name), data


def _create(call: Call) -> Response:
    owner, name, data = _named(call)
    user = owned_namespace(call, owner)
    visibility = data.get("visibility") or ("private" if data.get("private") is True else "public")
    if visibility not in ("public", "private"):
        raise bad_request("visibility must be public or private")
    url = f"{call.base_url}/{owner}/{name}"
    repo = call.hub.create(owner, name, visibility == "private", user.name, url)
    return answer({"url": url, "name": repo.id, "id": repo.id})


def _delete(call: Call) -> Response:
    owner, name, _ = _named(call)
    owned_namespace(call, owner)
    inner = replace(call, path={"owner": owner, "name": name})
    repo, _ = writable(inner)
    call.hub.delete(repo)
    return answer({})


def _settings(call: Call) -> Response:
    repo, _ = writable(call)
    data = call.json()
    with repo.lock:
        settings = repo.settings()
        if "gated" in data:
            if data["gated"] not in (False, "auto", "manual"):
                raise bad_request("gated must be auto, manual or false")
            settings = replace(settings, gated=data["gated"])
        visibility = data.get("visibility")
        if visibility is not None and visibility not in ("public", "private"):
            raise bad_request("visibility must be public or private")
        private = {"private": True, "public": False}.get(
            visibility or "", data.get("private", settings.private)
        )
        if not isinstance(private, bool):
            raise bad_request("private must be true or false")
        settings = replace(settings, private=private)
        repo.write_settings(settings)
    return answer({"private": settings.private, "gated": settings.gated})


def _auth_check(call: Call) -> Response:
    downloadable(call)
    return answer({})


def _auth_check_write(call: Call) -> Response:
    writable(call)
    return answer({})


ROUTES = [
    route("GET", "/api/models", _list),
    route("POST", "/api/repos/create", _create),
    route("DELETE", "/api/repos/delete", _delete),
    route("PUT", f"{REPO}/settings", _settings),
    route("GET", f"{REPO}/auth-check", _auth_check),
    route("GET", f"{REPO}/auth-check/write", _auth_check_write),
]
