"""A real HTTP server on loopback that speaks the few routes of a hub that reading needs, and does as badly
as a test wants it to.

    with serve(Hub(folder, storage.url)) as hub, ...:
        hub.fault = lambda seen: Reply(503)

Routes and headers as the Hub's: GET /api/models/REPO/revision/REV?blobs=true, GET /REPO/resolve/REV/NAME with
Range, X-Repo-Commit, X-Linked-Etag, X-Error-Code, and a redirect to a storage host for files in LFS.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

COMMIT = "c0ffee" + "0" * 33 + "1"
REPO = "zoo-tests/draft"
_CHUNK = 64 * 1024


@dataclass(frozen=True)
class Seen:
    """A request: its path as it was sent, without the query; names of headers in lower case."""

    path: str
    query: str
    headers: dict[str, str]

    @property
    def name(self) -> str:
        """The last part of the path: the name of a file."""
        return unquote(self.path.rpartition("/")[2])

    @property
    def range(self) -> tuple[int, int] | None:
        """First and last byte that were asked for."""
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        return (int(found[1]), int(found[2])) if found else None


@dataclass
class Reply:
    """An answer. ``body``: bytes, or a part of a file. ``cut``: the connection ends after so many bytes of
    it. Seconds to wait: ``wait`` before the answer, ``stall`` before the body, ``pause`` after each chunk of
    it, ``drip`` after each byte of the first header."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | tuple[Path, int, int] = b""
    cut: int | None = None
    pause: float = 0.0
    drip: float = 0.0
    wait: float = 0.0
    stall: float = 0.0

    @property
    def length(self) -> int:
        return len(self.body) if isinstance(self.body, bytes) else self.body[2] - self.body[1]

    def chunks(self) -> Iterator[bytes]:
        if isinstance(self.body, bytes):
            yield self.body
            return
        path, begin, end = self.body
        with path.open("rb") as file:
            file.seek(begin)
            while begin < end and (chunk := file.read(min(_CHUNK, end - begin))):
                begin += len(chunk)
                yield chunk


Answer = Callable[[Seen], Reply]


@dataclass
class Server:
    """A running server: what it was asked, and how many bytes of bodies it sent."""

    answer: Answer
    url: str = ""
    fault: Callable[[Seen], Reply | None] = field(default=lambda seen: None)
    seen: list[Seen] = field(default_factory=list)
    sent: int = 0

    def asked_for(self, name: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.name == name]


@contextmanager
def serve(answer: Answer) -> Iterator[Server]:
    server = Server(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            seen = Seen(path, query, {name.lower(): value for name, value in self.headers.items()})
            server.seen.append(seen)
            reply = server.fault(seen) or server.answer(seen)
            try:
                self._send(reply)
            except OSError:  # the client went away
                self.close_connection = True

        def _send(self, reply: Reply) -> None:
            time.sleep(reply.wait)
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000 if reply.drip else b"":
                self.wfile.write(bytes([byte]))
                time.sleep(reply.drip)
            self.send_response(reply.status)
            headers = {"Content-Length": str(reply.length)} | reply.headers
            for name, value in headers.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            time.sleep(reply.stall)
            left = reply.length if reply.cut is None else reply.cut
            for chunk in reply.chunks():
                self.wfile.write(chunk[:left])
                server.sent += len(chunk[:left])
                left -= len(chunk[:left])
                time.sleep(reply.pause)
            self.close_connection = reply.cut is not None

        def log_message(self, *args: Any) -> None:
            """Nothing on stderr."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *args: Any) -> None:
            """A client that went away is no error of the test."""

    with Quiet(("127.0.0.1", 0), Handler) as running:
        server.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            running.shutdown()


# Headers before and after a break of the connection that do not prove that the file is the same one.
UNPROVED = {
    "nothing": ({}, {}),
    "the same weak ETag": ({"ETag": 'W/"1"'}, {"ETag": 'W/"1"'}),
    "an ETag that is gone": ({"ETag": '"1"'}, {}),
    "an ETag only later": ({}, {"ETag": '"1"'}),
    "another date": (
        {"Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"},
        {"Last-Modified": "Fri, 21 Oct 2016 07:28:00 GMT"},
    ),
}


def ranged(seen: Seen, path: Path, headers: dict[str, str] | None = None) -> Reply:
    """The file as a good server sends it: the bytes that were asked for (206), or all of it."""
    size = path.stat().st_size
    tag = {"ETag": f'"{size}-{path.stat().st_mtime_ns}"'} | (headers or {})
    wanted = seen.range
    if wanted is None:
        return Reply(200, tag, (path, 0, size))
    if wanted[0] >= size:
        return Reply(416, {"Content-Range": f"bytes */{size}"})
    end = min(wanted[1] + 1, size)
    where = {"Content-Range": f"bytes {wanted[0]}-{end - 1}/{size}", "Accept-Ranges": "bytes"}
    return Reply(206, tag | where, (path, wanted[0], end))


@dataclass(frozen=True)
class Folder:
    """A plain web server of a folder, or the storage host of a hub."""

    root: Path

    def __call__(self, seen: Seen) -> Reply:
        path = self.root / unquote(seen.path).lstrip("/")
        return ranged(seen, path) if path.is_file() else Reply(404, {}, b"no such file")


@dataclass(frozen=True)
class Hub:
    """A hub with one repository, whose files are those of ``root``. ``storage``: the address of the server to
    which it redirects for weights, "" for none."""

    root: Path
    storage: str = ""
    commit: str = COMMIT

    @cached_property
    def listing(self) -> dict[str, Any]:
        return {
            "id": REPO,
            "sha": self.commit,
            "siblings": [self._entry(path) for path in sorted(self.root.rglob("*")) if path.is_file()],
        }

    def _entry(self, path: Path) -> dict[str, Any]:
        size = path.stat().st_size
        entry: dict[str, Any] = {"rfilename": path.relative_to(self.root).as_posix(), "size": size}
        if path.suffix == ".safetensors":
            digest = _sha256(path) if size < 10**8 else "0" * 64
            entry["lfs"] = {"sha256": digest, "size": size, "pointerSize": 135}
        return entry

    def __call__(self, seen: Seen) -> Reply:
        if seen.path in (f"/api/models/{REPO}/revision/{rev}" for rev in ("main", "v1.0.0", self.commit)):
            return Reply(200, {"Content-Type": "application/json"}, json.dumps(self.listing).encode())
        if seen.path.startswith(f"/api/models/{REPO}/"):
            return Reply(404, {"X-Error-Code": "RevisionNotFound"})
        prefix = f"/{REPO}/resolve/{self.commit}/"
        path = self.root / unquote(seen.path).removeprefix(prefix)
        if not seen.path.startswith(prefix):
            return Reply(401, {"X-Error-Code": "RepoNotFound"})
        if not path.is_file():
            return Reply(404, {"X-Error-Code": "EntryNotFound"})
        headers = {"X-Repo-Commit": self.commit}
        if path.suffix != ".safetensors" or not self.storage:
            return ranged(seen, path, headers)
        headers |= {"X-Linked-Etag": f'"{path.name}"', "X-Linked-Size": str(path.stat().st_size)}
        where = f"{self.storage}/{path.relative_to(self.root).as_posix()}?X-Signature=secret-signature"
        return Reply(302, headers | {"Location": where}, b"Found")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
