"""Serving a hub: the socket, and uvicorn on it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from zoo.errors import UsageError
from zoo.hub.app import make_app
from zoo.hub.directory import served
from zoo.printable import quoted

_KEEP_ALIVE = 75  # seconds; a release thinks between two requests
_SHUTDOWN = 10  # seconds that running requests get when the server is told to stop


def serve(folder: Path, host: str, port: int, public_url: str, ready: Callable[[str], None]) -> None:
    """Serve the hub in ``folder`` until a signal ends it. ``ready`` is called with the address once
    connections are accepted; port 0 is any free one.

    Raises UsageError.
    """
    if public_url and urlsplit(public_url).scheme not in ("http", "https"):
        raise UsageError(
            f"--public-url {quoted(public_url)} is no http address", hint="https://hub.example.org"
        )
    with served(folder) as hub, _listen(host, port) as listener:
        app = make_app(hub, public_url.rstrip("/"))
        config = uvicorn.Config(
            app,
            access_log=False,  # it would show queries; zoo.hub.http.Log does not
            log_level="warning",
            lifespan="off",
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_SHUTDOWN,
        )
        name = f"[{host}]" if ":" in host else host
        ready(f"http://{name}:{listener.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"cannot listen at {host}:{port}: {reason}", hint="--host, --port") from error
    # Inherited by each connection. asyncio does not set it on a socket that it did not make, and an answer of
    # two writes would wait 40 ms for the client's delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
