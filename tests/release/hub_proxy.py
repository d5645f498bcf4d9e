"""A proxy between the real client and a real hub that answers chosen requests with a fault."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The faults: what the client sees, and whether the hub had applied the request.
FAULTS = ("500 before", "500 after", "429", "403", "412", "drop before", "drop after")


@dataclass
class Proxy:
    """``fault`` is what happens to the first request whose "METHOD path" holds ``where``; ``requests`` are
    all that came, in order."""

    port: int = 0
    where: str = ""
    fault: str = ""
    times: int = 1
    # (a part of "METHOD path", the body of the answer 200 that such requests get instead of the hub's)
    instead: tuple[str, bytes] = ("", b"")
    requests: list[str] = field(default_factory=list)
    # Called with "METHOD path" before a request is passed on.
    before: Callable[[str], None] = lambda request: None
    # Called after the hub has answered, before the client gets it.
    after: Callable[[str], None] = lambda request: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def break_once(self, where: str, fault: str, times: int = 1) -> None:
        self.where, self.fault, self.times = where, fault, times

    def taken(self, request: str) -> str:
        """The fault of this request, or ""."""
        if not self.times or not self.where or self.where not in request:
            return ""
        self.times -= 1
        return self.fault


@contextmanager
def proxy_to(hub_port: int) -> Iterator[Proxy]:
    proxy = Proxy()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, TimeoutError):
                self.close_connection = True

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0") or 0))
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = self._chunks()
            request = f"{self.command} {self.path}"
            proxy.requests.append(request)
            proxy.before(request)
            fault = proxy.taken(request)
            if fault in ("500 before", "429", "403", "412"):
                return self.answer(int(fault[:3]), [("Retry-After", "1")] if fault == "429" else [], b"{}")
            if fault == "drop before":
                return self.drop()
            if proxy.instead[0] and proxy.instead[0] in request:
                return self.answer(200, [("Content-Type", "application/json")], proxy.instead[1])
            status, headers, answer = self._ask_hub(body)
            proxy.after(request)
            if fault == "500 after":
                return self.answer(500, [], b"{}")
            if fault == "drop after":
                return self.drop()
            return self.answer(status, headers, answer)

        def _ask_hub(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", hub_port, timeout=30)
            headers = {
                key: value
                for key, value in self.headers.items()
                if key.lower() not in ("transfer-encoding", "content-length", "connection")
            }
            try:
                connection.request(self.command, self.path, body, headers)
                found = connection.getresponse()
                kept = [each for each in found.getheaders() if each[0].lower() not in ("connection", "date")]
                return found.status, kept, found.read()
            finally:
                connection.close()

        def _chunks(self) -> bytes:
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            self.send_response_only(status)
            names = {name.lower() for name, _ in headers}
            for name, value in headers:
                self.send_header(name, value)
            if "content-length" not in names and self.command != "HEAD":
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if self.command != "HEAD" else b"")

        def drop(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is written: ``requests`` holds all that a test looks at."""

        do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = pass_on  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until ``condition`` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
