"""An HTTP proxy between the real client and a real hub: it notes every request, and does something bad to
one of them."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.proxy import Forwarding, listening
from tests.reliability.faults import STATUS, Fault

_FOR_EVER = 20  # seconds after which a client that gets no answer should long have given up
_RST = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection
# Said by a hub that limits the rate (IETF draft ratelimit-headers): again in one second.
_RATE = (("Retry-After", "1"), ("RateLimit", '"api";r=0;t=1'), ("RateLimit-Policy", '"api";q=1000;w=300'))
_WORDS = {403: "Forbidden", 412: "A commit has happened since", 429: "Too Many Requests", 500: "Internal"}


@dataclass(frozen=True, order=True)
class Spot:
    """The ``nth`` request (from 1) that looks like ``label``, e.g. the 2nd ``GET refs``."""

    label: str
    nth: int

    def __str__(self) -> str:
        return self.label if self.nth == 1 else f"{self.label} ({self.nth})"


def label(method: str, target: str, ranged: bool) -> str:
    """A request without what differs between runs: repository and digests."""
    parts = urlsplit(target)
    path = unquote(parts.path)
    path = re.sub(r"^/api/models/[^/]+/[^/]+/?|^/api/|^/[^/]+/[^/]+\.git/info/|^/[^/]+/[^/]+/", "", path)
    path = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", re.sub(r"\b[0-9a-f]{40}\b", "COMMIT", path))
    told = [key for key, _ in parse_qsl(parts.query) if key in ("create_pr", "include_prs")]
    return " ".join([method, path or "(the repository)", *told, *(["range"] if ranged else [])])


@dataclass
class Proxy:
    """``spot`` is where ``fault`` happens, once. ``seen`` are all requests that came, in order; ``told``
    those that were answered with 2xx: method, path and what the hub said. With ``stays`` it happens to every
    request of that label, until ``mend``."""

    spot: Spot | None = None
    fault: Fault | None = None
    port: int = 0
    seen: list[Spot] = field(default_factory=list)
    told: list[tuple[str, str, bytes]] = field(default_factory=list)
    stays: bool = False
    happened: bool = False
    waited_for_ever: bool = False
    # Called with the label of every request before it is passed on.
    hold: Callable[[str], None] = lambda label: None
    kill_release: Callable[[], None] = lambda: None
    # Kills the hub after so many seconds, and starts it again.
    kill_hub: Callable[[float], None] = lambda delay: None
    delay: float = 0.0
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def note(self, what: str) -> Fault | None:
        """Write down a request, and say what happens to it."""
        with self._lock:
            self._counts[what] += 1
            spot = Spot(what, self._counts[what])
            self.seen.append(spot)
            hit = spot == self.spot or (self.stays and self.spot is not None and self.spot.label == what)
            if not hit or (self.happened and not self.stays):
                return None
            self.happened = True
            return self.fault

    def mend(self) -> None:
        """Let every request pass from now on."""
        self.stays = False


class _Handler(Forwarding):
    proxy: Proxy

    def pass_on(self) -> None:
        proxy = self.proxy
        what = label(self.command, self.path, "Range" in self.headers)
        fault = proxy.note(what)
        proxy.hold(what)
        if fault is Fault.MIDWAY and self.length:
            self._send_half(self.rfile.read(self.length // 2))
            return self.reset()
        body = self.body()
        if fault is Fault.KILL:
            proxy.kill_release()
            return self.reset()
        if fault is Fault.HUB:
            self._ask_and_kill(body)
            return self.reset()
        if fault in STATUS and not fault.applied:
            return self.refuse(fault)
        status, headers, answer = self.ask(body)
        match fault:
            case Fault.LOST:
                return self.refuse(fault)
            case Fault.RESET:
                return self.reset()
            case Fault.TIMEOUT:
                gone, _, _ = select.select([self.connection], [], [], _FOR_EVER)
                proxy.waited_for_ever = not gone
                return self.reset()
            case Fault.KILLED:
                proxy.kill_release()
                return self.reset()
            case Fault.MIDWAY:
                self.answer(status, headers, answer, upto=len(answer) // 2)
                return self.reset()
        self.answer(status, headers, answer)
        if 200 <= status < 300:
            proxy.told.append((self.command, self.path, answer))
        if fault is Fault.HUB_AFTER:
            proxy.kill_hub(0.0)
        return None

    def _send_half(self, half: bytes) -> None:
        """Let the hub begin with a request whose end never comes."""
        connection = self.connection_to_hub()
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**self.sent(), "Content-Length": str(self.length)}.items():
            connection.putheader(name, value)
        connection.endheaders(half)
        connection.close()

    def _ask_and_kill(self, body: bytes) -> None:
        """Send the request, and do not wait for its end. The hub gets ``delay`` seconds for it."""
        answered = threading.Thread(target=self._ask_in_vain, args=(body,))
        answered.start()
        self.proxy.kill_hub(self.proxy.delay)
        answered.join()

    def _ask_in_vain(self, body: bytes) -> None:
        with suppress(OSError, http.client.HTTPException):
            self.ask(body)

    def refuse(self, fault: Fault) -> None:
        status = STATUS[fault]
        body = json.dumps({"error": _WORDS[status]}).encode()
        headers = [("Content-Type", "application/json"), *(_RATE if fault is Fault.RATE else ())]
        self.answer(status, headers, body)

    def reset(self) -> None:
        """End the connection as a host does that crashed: RST, and not a word."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST)
            os.close(self.connection.detach())


@contextmanager
def proxy_to(hub_port: int, spot: Spot | None = None, fault: Fault | None = None) -> Iterator[Proxy]:
    proxy = Proxy(spot, fault)
    with listening(type("Handler", (_Handler,), {"proxy": proxy, "hub_port": hub_port})) as proxy.port:
        yield proxy
