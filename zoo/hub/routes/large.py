"""Large files come in by git-lfs's basic transfer: batch, PUT, verify (git-lfs, docs/api).

The client sends no token with the PUT. So its address is signed by the hub: for one repository, sha256, size
and day.
"""

from __future__ import annotations

import hmac
import shutil
import time
from typing import Any
from urllib.parse import unquote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zoo.hub.errors import HubError, bad_request, forbidden, no_repository
from zoo.hub.http import Call, answer, route
from zoo.hub.lfs import SIZE_LIMIT, Pointer
from zoo.hub.names import SHA256
from zoo.hub.repo import Repo
from zoo.hub.rights import contributable

_LFS = "/{owner}/{name}.git/info/lfs"
_VALID = 24 * 3600  # seconds: what 7 GB need at 100 kB/s
_SPARE = 64 * 1024 * 1024  # bytes of the disk that stay free for commits
_OBJECTS = 1000


def _batch(call: Call) -> Response:
    repo, _ = contributable(call)
    data = call.json()
    if data.get("operation") != "upload" or data.get("hash_algo", "sha256") != "sha256":
        raise bad_request("Only uploads by sha256; download from /resolve/")
    objects = data.get("objects")
    if not isinstance(objects, list) or len(objects) > _OBJECTS:
        raise bad_request(f"objects must be a list of at most {_OBJECTS}")
    return answer({"transfer": "basic", "objects": [_offer(call, repo, _pointer(item)) for item in objects]})


def _pointer(item: Any) -> Pointer:
    """The object that a batch or a verification names. Raises HubError 400."""
    oid, size = (item.get("oid"), item.get("size")) if isinstance(item, dict) else (None, None)
    if not isinstance(oid, str) or not SHA256.fullmatch(oid) or type(size) is not int or size < 0:
        raise bad_request("An object needs a sha256 and a size")
    return Pointer(oid, size)


def _offer(call: Call, repo: Repo, wanted: Pointer) -> dict[str, Any]:
    """What is to be done for one object: nothing, an upload, or an error."""
    found: dict[str, Any] = {"oid": wanted.sha256, "size": wanted.size}
    stored = repo.large.size(wanted.sha256)
    if stored is not None:
        if stored == wanted.size:
            return found
        return found | {"error": {"code": 422, "message": f"the file of this sha256 has {stored} bytes"}}
    if wanted.size > SIZE_LIMIT:
        return found | {"error": {"code": 422, "message": f"larger than {SIZE_LIMIT} bytes"}}
    if wanted.size + _SPARE > shutil.disk_usage(call.hub.disk.root).free:
        return found | {"error": {"code": 507, "message": "the disk of this hub is full"}}
    base = f"{call.base_url}/{repo.id}.git/info/lfs"
    expires = str(int(time.time()) + _VALID)
    query = {"size": str(wanted.size), "expires": expires}
    query["signature"] = _sign(call.hub.secret, repo.id, wanted, expires)
    upload = {"href": f"{base}/objects/{wanted.sha256}?{urlencode(query)}"}
    return found | {"actions": {"upload": upload, "verify": {"href": f"{base}/verify"}}}


def _sign(secret: bytes, repo_id: str, wanted: Pointer, expires: str) -> str:
    text = f"{repo_id}\n{wanted.sha256}\n{wanted.size}\n{expires}"
    return hmac.new(secret, text.encode(), "sha256").hexdigest()


async def _put(request: Request) -> Response:
    """Receive one file. It is streamed, which no other route needs."""
    repo, wanted = await run_in_threadpool(_admit, request)
    await repo.large.receive(wanted, request.stream())
    return answer({})


def _admit(request: Request) -> tuple[Repo, Pointer]:
    """What a signed address allows to upload. Raises HubError."""
    owner, name, oid = (unquote(request.path_params[key]) for key in ("owner", "name", "oid"))
    query = request.query_params
    size, expires = query.get("size", ""), query.get("expires", "")
    if not SHA256.fullmatch(oid) or not _is_number(size) or not _is_number(expires):
        raise forbidden("This address is not one that the hub gave out")
    wanted = Pointer(oid, int(size))
    signature = _sign(request.app.state.hub.secret, f"{owner}/{name}", wanted, expires)
    if not hmac.compare_digest(signature.encode(), query.get("signature", "").encode()):
        raise forbidden("This address is not one that the hub gave out")
    if int(expires) < time.time():
        raise forbidden("This address has expired: ask for a new one")
    repo = request.app.state.hub.repo(owner, name)
    if repo is None:
        raise no_repository(signed_in=True)
    return repo, wanted


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15


def _verify(call: Call) -> Response:
    repo, _ = contributable(call)
    wanted = _pointer(call.json())
    if repo.large.size(wanted.sha256) != wanted.size:
        raise HubError(404, "The file was not uploaded")
    return answer({})


ROUTES = [
    route("POST", f"{_LFS}/objects/batch", _batch),
    route("POST", f"{_LFS}/verify", _verify),
    Route(f"{_LFS}/objects/{{oid}}", _put, methods=["PUT"]),
]
