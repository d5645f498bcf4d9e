"""One request and its answer: who asks, what the path and the body hold, and errors as the client reads them.

A route is a plain function from a :class:`Call` to a response. It runs in a thread, so that waiting for the
disk holds up nobody else.
"""

from __future__ import annotations

import errno
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from zoo.hub.directory import Hub
from zoo.hub.errors import HubError, bad_request, no_repository
from zoo.hub.repo import as_json
from zoo.hub.users import Identity
from zoo.printable import printable

# Bodies are read into memory; large files come another way (routes/large.py). 256 files of a preupload with
# their samples are 250 kB.
SMALL_BODY = 4 * 1024 * 1024
COMMIT_BODY = 64 * 1024 * 1024


@dataclass(frozen=True)
class Call:
    """A request whose body is here. ``path`` holds the parts that the route names, unquoted; ``user`` is None
    for a stranger."""

    hub: Hub
    request: Request
    path: Mapping[str, str]
    body: bytes
    user: Identity | None

    @property
    def base_url(self) -> str:
        """The address of this hub as the client knows it, without a slash at the end."""
        stated: str = self.request.app.state.public_url
        return stated or str(self.request.base_url).rstrip("/")

    def query(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    def flag(self, name: str) -> bool:
        return self.query(name).lower() in ("1", "true")

    def json(self) -> dict[str, Any]:
        """The body as a JSON object. Raises HubError 400."""
        try:
            value = json.loads(self.body or b"{}")
        except (ValueError, RecursionError):
            raise bad_request("The body is not JSON") from None
        if value is None:  # what the client sends for "no body"
            return {}
        if not isinstance(value, dict):
            raise bad_request("The body is not a JSON object")
        return value


Handler = Callable[[Call], Response]


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(as_json(value), status, headers, media_type="application/json")


def refusal(error: HubError) -> Response:
    """An error as the client reads it: JSON, and headers for what it makes of it."""
    headers = {"X-Error-Message": _header_text(error.message)}
    if error.code:
        headers["X-Error-Code"] = error.code
    return answer({"error": error.message, **error.more}, error.status, headers)


def route(method: str, path: str, handler: Handler, body_limit: int = SMALL_BODY) -> Route:
    """A route to ``handler``. A body that may be large is not read from a stranger."""

    async def endpoint(request: Request) -> Response:
        if body_limit > SMALL_BODY and (await run_in_threadpool(call_of, request)).user is None:
            raise no_repository(signed_in=False)
        body = await _body(request, body_limit)
        return await run_in_threadpool(_respond, request, handler, body)

    return Route(path, endpoint, methods=[method])


def call_of(request: Request, body: bytes = b"") -> Call:
    """Raises HubError 401 for a token that is not (or no longer) one."""
    hub: Hub = request.app.state.hub
    path = {name: unquote(value) for name, value in request.path_params.items()}
    return Call(hub, request, path, body, _identity(hub, request))


def _respond(request: Request, handler: Handler, body: bytes) -> Response:
    return handler(call_of(request, body))


def _identity(hub: Hub, request: Request) -> Identity | None:
    header = request.headers.get("authorization", "")
    if not header:
        return None
    scheme, _, token = header.partition(" ")
    user = hub.users.identify(token.strip()) if scheme.lower() == "bearer" else None
    if user is None:
        # The text by which the client tells a wrong token from a repository that is not there.
        raise HubError(401, "Invalid credentials in Authorization header")
    return user


async def _body(request: Request, limit: int) -> bytes:
    """The body, if it is no longer than ``limit`` bytes. Raises HubError 413."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise HubError(413, f"The body is longer than {limit} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _header_text(text: str) -> str:
    """``text`` as a header may hold it: one line of ASCII."""
    line = printable(text, keep="", limit=500)
    return line.encode("ascii", "backslashreplace").decode()


async def on_hub_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HubError)
    return refusal(error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """No such route, or not with this method."""
    assert isinstance(error, HTTPException)
    return refusal(HubError(error.status_code, f"{error.detail}: this hub has no such route"))


async def on_os_error(request: Request, error: Exception) -> Response:
    """The disk is full, or broken."""
    assert isinstance(error, OSError)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return refusal(HubError(507 if full else 500, f"The disk of this hub: {error.strerror}"))


async def on_disconnect(request: Request, error: Exception) -> Response:
    return refusal(bad_request("The client went away"))


class RawPath:
    """Routes see the path as it was sent: ``refs%2Fpr%2F1`` is one part of it, not three."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": scope["raw_path"].decode("ascii", "replace")}
        await self._app(scope, receive, send)


class Log:
    """One line on stderr per request: method, path and status. Never a header or a query (both may hold
    credentials), and an unexpected error as its type and place only."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.monotonic(), "-"

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            path = printable(scope["path"], keep="", limit=200)
            seconds = time.monotonic() - started
            print(f"{scope['method']} {path} {status} {seconds:.3f}s", file=sys.stderr, flush=True)


def next_link(call: Call, **query: str) -> dict[str, str]:
    """The header that leads to the next page: this request with ``query`` in it."""
    url = call.request.url.include_query_params(**query)
    return {"Link": f'<{call.base_url}{quote(url.path, safe="/%")}?{url.query}>; rel="next"'}


EXCEPTIONS: Mapping[Any, Callable[[Request, Exception], Any]] = {
    HubError: on_hub_error,
    HTTPException: on_http_error,
    ClientDisconnect: on_disconnect,
    OSError: on_os_error,
}
