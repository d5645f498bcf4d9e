"""The core of the proxies between the real client and a real hub, tests/release/hub_proxy.py and
tests/reliability/proxy.py: how a request comes in, goes to the hub, and is answered."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 60  # seconds that the hub gets
Headers = list[tuple[str, str]]
Answer = tuple[int, Headers, bytes]


class Forwarding(BaseHTTPRequestHandler):
    """One connection of a client. A proxy says in ``pass_on`` what happens to a request of it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits for 40 ms
    hub_port: int

    def pass_on(self) -> None:
        raise NotImplementedError

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (OSError, http.client.HTTPException):  # a client or a hub that was killed
            self.close_connection = True

    @property
    def length(self) -> int:
        """The length of the body that the client announced."""
        return int(self.headers.get("Content-Length", "0") or 0)

    def body(self) -> bytes:
        """The whole body of the request."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(self.length)
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def sent(self) -> dict[str, str]:
        """The headers of the request, as they go to the hub."""
        dropped = ("transfer-encoding", "content-length", "connection")
        return {key: value for key, value in self.headers.items() if key.lower() not in dropped}

    def connection_to_hub(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.hub_port, timeout=PATIENCE)

    def ask(self, body: bytes) -> Answer:
        """What the hub answers to the request."""
        connection = self.connection_to_hub()
        try:
            connection.request(self.command, self.path, body, self.sent())
            found = connection.getresponse()
            dropped = ("connection", "date", "transfer-encoding")
            kept = [each for each in found.getheaders() if each[0].lower() not in dropped]
            return found.status, kept, found.read()
        finally:
            connection.close()

    def answer(self, status: int, headers: Headers, body: bytes, upto: int | None = None) -> None:
        """Answer the client; of the body, only ``upto`` bytes of those that are announced."""
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() != "content-length" or self.command == "HEAD":
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body[:upto])

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is written: a proxy keeps what tests look at."""

    def _request(self) -> None:
        self.pass_on()

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _request  # noqa: N815


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A connection that was reset on purpose is no error."""


@contextmanager
def listening(handler: type[Forwarding]) -> Iterator[int]:
    """A proxy of this kind, in threads of this process; its port."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
