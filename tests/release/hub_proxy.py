"""A proxy between the real client and a real hub that answers chosen requests with a fault."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.proxy import Forwarding, listening

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


class _Handler(Forwarding):
    proxy: Proxy

    def pass_on(self) -> None:
        proxy, body = self.proxy, self.body()
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
        status, headers, answer = self.ask(body)
        proxy.after(request)
        if fault == "500 after":
            return self.answer(500, [], b"{}")
        if fault == "drop after":
            return self.drop()
        return self.answer(status, headers, answer)

    def drop(self) -> None:
        """End the connection without a word."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_to(hub_port: int) -> Iterator[Proxy]:
    proxy = Proxy()
    with listening(type("Handler", (_Handler,), {"proxy": proxy, "hub_port": hub_port})) as proxy.port:
        yield proxy


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Wait until ``condition`` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
