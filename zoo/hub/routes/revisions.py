"""What a revision holds: its description, its tree, single paths, and the commits that led to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs

from starlette.responses import Response

from zoo.hub.cards import metadata_of
from zoo.hub.discussions import iso
from zoo.hub.errors import bad_request, no_entry
from zoo.hub.http import Call, answer, next_link, route
from zoo.hub.repo import File, Repo, Tree
from zoo.hub.rights import readable
from zoo.hub.routes import REPO

# As the Hub pages: 1000 entries of a tree, 50 with expand; 50 commits.
_ENTRIES, _EXPANDED, _COMMITS = 1000, 50, 50
_FIELDS = 10_000


def description(repo: Repo, commit: str, *, card: bool = True) -> dict[str, Any]:
    """What the Hub says of a model, as far as it makes sense here."""
    settings = repo.settings()
    metadata = metadata_of(repo.text(commit, "README.md") or b"") or {}
    found = {
        "_id": repo.id,
        "id": repo.id,
        "modelId": repo.id,
        "author": repo.owner,
        "sha": commit,
        "createdAt": iso(settings.created),
        "lastModified": iso(repo.commit(commit).when),
        "private": settings.private,
        "gated": settings.gated,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": _tags(metadata),
    }
    found |= {key: metadata[key] for key in ("library_name", "pipeline_tag") if key in metadata}
    if card and metadata:
        found["cardData"] = metadata
        found |= {key: metadata[key] for key in ("model-index",) if key in metadata}
    return found


def _tags(metadata: dict[str, Any]) -> list[str]:
    tags = [metadata.get("library_name")]
    for key, prefix in (
        ("tags", ""),
        ("license", "license:"),
        ("base_model", "base_model:"),
        ("language", ""),
    ):
        value = metadata.get(key)
        tags += [f"{prefix}{item}" for item in (value if isinstance(value, list) else [value]) if item]
    return list(dict.fromkeys(tag for tag in tags if isinstance(tag, str)))


def _info(call: Call) -> Response:
    repo = readable(call)
    commit = repo.resolve(call.path.get("rev", "main"))
    found = description(repo, commit)
    found["siblings"] = [
        {"rfilename": path} | (_blob(file) if call.flag("blobs") else {})
        for path, file in repo.tree(commit).files.items()
    ]
    wanted = set(call.request.query_params.getlist("expand"))
    if wanted:
        found = {key: value for key, value in found.items() if key in wanted | {"_id", "id", "modelId"}}
    return answer(found)


def _blob(file: File) -> dict[str, Any]:
    found: dict[str, Any] = {"size": file.size, "blobId": file.oid}
    if file.lfs:
        pointer = len(file.lfs.text())
        found["lfs"] = {"sha256": file.lfs.sha256, "size": file.lfs.size, "pointerSize": pointer}
    return found


def entry(path: str, tree: Tree) -> dict[str, Any]:
    """A file or folder as trees list it."""
    file = tree.files.get(path)
    if file is None:
        return {"type": "directory", "oid": tree.folders[path], "size": 0, "path": path}
    found: dict[str, Any] = {"type": "file", "oid": file.oid, "size": file.size, "path": path}
    if file.lfs:
        pointer = len(file.lfs.text())
        found["lfs"] = {"oid": file.lfs.sha256, "size": file.lfs.size, "pointerSize": pointer}
    return found


def _tree(call: Call) -> Response:
    repo = readable(call)
    commit = repo.resolve(call.path["rev"])
    tree = repo.tree(commit)
    folder = call.path.get("path", "").strip("/")
    if folder and folder not in tree.folders:
        raise no_entry(f"{folder[:200]} is no folder of {call.path['rev'][:200]}")
    prefix = folder + "/" if folder else ""
    paths = [path for path in sorted(tree.files.keys() | tree.folders.keys()) if path.startswith(prefix)]
    if not call.flag("recursive"):
        paths = [path for path in paths if "/" not in path.removeprefix(prefix)]
    paths = [path for path in paths if path > call.query("cursor")]
    size = _EXPANDED if call.flag("expand") else _ENTRIES
    page = paths[:size]
    more = next_link(call, cursor=page[-1]) if len(paths) > size else {}
    return answer(_entries(repo, commit, page, call.flag("expand")), headers=more)


def _paths_info(call: Call) -> Response:
    repo = readable(call)
    commit = repo.resolve(call.path["rev"])
    if call.request.headers.get("content-type", "").startswith("application/json"):
        data = call.json()
        paths, expand = data.get("paths", []), bool(data.get("expand"))
    else:
        try:
            form = parse_qs(call.body.decode("ascii", "replace"), max_num_fields=_FIELDS)
        except ValueError:
            raise bad_request(f"More than {_FIELDS} paths") from None
        paths, expand = form.get("paths", []), form.get("expand", [""])[0].lower() in ("1", "true")
    tree = repo.tree(commit)
    names = [str(path).strip("/") for path in paths] if isinstance(paths, list) else [str(paths)]
    there = [path for path in dict.fromkeys(names) if path in tree.files or path in tree.folders]
    return answer(_entries(repo, commit, there, expand))


def _entries(repo: Repo, commit: str, paths: Iterable[str], expand: bool) -> list[dict[str, Any]]:
    tree = repo.tree(commit)
    entries = [entry(path, tree) for path in paths]
    if expand:
        changed = _last_changed(repo, commit, [found["path"] for found in entries])
        for found in entries:
            oid = changed[found["path"]]
            last = repo.commit(oid)
            found["lastCommit"] = {"id": oid, "title": last.title, "date": iso(last.when)}
    return entries


def _last_changed(repo: Repo, commit: str, paths: list[str]) -> dict[str, str]:
    """Path -> the commit that gave it its present content, along the first parents."""
    found: dict[str, str] = {}
    waiting = set(paths)
    while waiting:
        parents = repo.commit(commit).parents
        now = repo.tree(commit)
        before = repo.tree(parents[0]) if parents else Tree({}, {})
        for path in list(waiting):
            if _oid(now, path) != _oid(before, path):
                found[path] = commit
                waiting.discard(path)
        if parents:
            commit = parents[0]
    return found


def _oid(tree: Tree, path: str) -> str | None:
    file = tree.files.get(path)
    return file.oid if file else tree.folders.get(path)


def _commits(call: Call) -> Response:
    repo = readable(call)
    page = call.query("p", "0")
    if not page.isascii() or not page.isdigit() or len(page) > 9:
        raise bad_request("p must be a number")
    commits = list(repo.history(repo.resolve(call.path["rev"])))
    start, end = int(page) * _COMMITS, (int(page) + 1) * _COMMITS
    listed = [
        {
            "id": oid,
            "title": commit.title,
            "message": commit.body,
            "authors": [{"user": commit.author}],
            "date": iso(commit.when),
        }
        for oid, commit in commits[start:end]
    ]
    more = next_link(call, p=str(int(page) + 1)) if end < len(commits) else {}
    return answer(listed, headers=more | {"X-Total-Count": str(len(commits))})


ROUTES = [
    route("GET", f"{REPO}/revision/{{rev}}", _info),
    route("GET", f"{REPO}/tree/{{rev}}", _tree),
    route("GET", f"{REPO}/tree/{{rev}}/{{path:path}}", _tree),
    route("POST", f"{REPO}/paths-info/{{rev}}", _paths_info),
    route("GET", f"{REPO}/commits/{{rev}}", _commits),
    route("GET", REPO, _info),
]
