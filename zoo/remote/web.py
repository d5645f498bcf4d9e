"""GET requests to one server, and to the storage hosts that a hub redirects to.

What this client does otherwise than a browser, and why:
- it follows redirects itself: a token goes to the server that it was meant for and to no other, and a plain
  server cannot send us to another host (RFC 9110, 15.4; CVE-2018-18074 is what happens else);
- it asks for the bytes as they are (Accept-Encoding: identity), because offsets must mean what they say;
- it never reads more than was asked for, whatever the server sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from zoo import __version__
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.remote.address import is_loopback, is_secure, origin, parse_url
from zoo.remote.limits import Deadline, TransientError, retrying
from zoo.remote.refusals import refusal

if TYPE_CHECKING:
    from zoo.remote.client import httpx

_REDIRECTS = 5
# A server that ignores Range sends the file from its start: so much of it may be read in vain.
_SKIP_LIMIT = 1024 * 1024
_CONTENT_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_LENGTH = re.compile(r"\d{1,18}")
_DOWNLOAD = "download the checkpoint, and give its folder"
_AGAIN = "run the command again; if it stays so, download the checkpoint and give its folder"


@dataclass(slots=True)
class Answer:
    """The body of an answer, from the first byte that was asked for. ``total``: the size of the whole file.
    ``tag``: what identifies its content (an ETag), or ""; ``validator``: the same for If-Range, of the
    server that sent the bytes."""

    chunks: Iterator[bytes]
    total: int
    tag: str
    validator: str
    response: httpx.Response

    def close(self) -> None:
        self.response.close()


class Web:
    """Requests to the server of ``base`` about ``source`` (what the user typed).

    ``page`` is where a person can look at a hub's repository: with it, the user's token is sent along, and
    resolve URLs may redirect to storage hosts; "" for a plain server.

    Threads may share it. Every method raises UnreadableError, with the cause and the next action.
    """

    def __init__(self, source: str, base: str, *, page: str = "") -> None:
        from zoo.remote.client import new_client

        self.source = source
        self.page = page
        self._origin = origin(parse_url(base, "the source"))
        self._private: Mapping[str, str] = {}
        self._common = {"accept-encoding": "identity", "user-agent": f"draft-zoo/{__version__}"}
        token = _token() if page else None
        if token:
            self._private = {"authorization": _sendable(f"Bearer {token}")}
        self._client = new_client()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def document(self, url: str, what: str, limit: int, clock: Deadline) -> bytes:
        """The whole document at ``url``, at most ``limit`` bytes."""
        for attempt in retrying(clock):
            with attempt:
                body = bytearray()
                response, _ = self._follow(url, what, {}, clock)
                try:
                    for chunk in self._chunks(response, what, clock):
                        body += chunk
                        if len(body) > limit:
                            raise UnreadableError(
                                f"{self.named(what)}: more than {limit:,} bytes", hint=_DOWNLOAD
                            )
                finally:
                    response.close()
        return bytes(body)

    def part(
        self, url: str, what: str, begin: int, end: int, clock: Deadline, *, validator: str = ""
    ) -> Answer:
        """The bytes from ``begin`` to ``end`` (exclusive) of the file at ``url``, or as many as it has. One
        try."""
        headers = {"range": f"bytes={begin}-{end - 1}"} | ({"if-range": validator} if validator else {})
        response, linked = self._follow(url, what, headers, clock)
        try:
            total, skip = self._checked(response, what, begin, end)
        except BaseException:
            response.close()
            raise
        tag = response.headers.get("etag", "")
        strong = tag if tag.startswith('"') else ""  # a weak one must not be sent: RFC 9110, 13.1.5
        chunks = _skipped(self._chunks(response, what, clock), skip)
        return Answer(chunks, total, linked or tag, strong, response)

    def _checked(self, response: httpx.Response, what: str, begin: int, end: int) -> tuple[int, int]:
        """The size of the whole file, and how many bytes come before the first one that was asked for."""
        named, headers = self.named(what), response.headers
        length = headers.get("content-length", "")
        if response.status_code == 416 and headers.get("content-range") == "bytes */0" and begin == 0:
            return 0, 0
        if response.status_code == 416:
            raise UnreadableError(f"{named} is shorter than {begin:,} bytes now", hint=_AGAIN)
        if response.status_code == 200:
            if not _LENGTH.fullmatch(length):
                raise UnreadableError(f"{named}: the server does not say how long it is", hint=_DOWNLOAD)
            if begin > _SKIP_LIMIT:
                raise UnreadableError(f"{named}: the server ignores Range", hint=_DOWNLOAD)
            return int(length), begin
        found = _CONTENT_RANGE.fullmatch(headers.get("content-range", ""))
        if response.status_code != 206 or found is None:
            raise UnreadableError(
                f"{named}: answer {response.status_code} with the Content-Range "
                f"{quoted(headers.get('content-range', ''))} to a request for bytes {begin}-{end - 1}",
                hint=_DOWNLOAD,
            )
        first, last, total = (int(number) for number in found.groups())
        if (first, last) != (begin, min(end, total) - 1) or length not in ("", str(last - first + 1)):
            raise UnreadableError(
                f"{named}: the server sends {length or 'some'} bytes as {first}-{last} of {total} "
                f"to a request for bytes {begin}-{end - 1}",
                hint=_DOWNLOAD,
            )
        return total, 0

    def _follow(
        self, url: str, what: str, headers: Mapping[str, str], clock: Deadline
    ) -> tuple[httpx.Response, str]:
        """The answer at the end of all redirects, which is a success (or a 416), and the ETag of the file
        that the hub itself gave on the way."""
        from zoo.remote.client import httpx

        here, linked = httpx.URL(url), ""
        for _ in range(_REDIRECTS + 1):
            response = self._send(here, what, headers, clock)
            if origin(here) == self._origin and self.page:
                linked = response.headers.get("x-linked-etag", linked)
            if response.status_code not in (301, 302, 303, 307, 308):
                break
            try:
                here = self._redirected(here, response.headers.get("location", ""), what)
            finally:
                response.close()
        else:
            raise UnreadableError(f"{self.named(what)}: too many redirects", hint=_DOWNLOAD)
        if response.status_code in (200, 206, 416):
            encoding = response.headers.get("content-encoding", "identity").lower()
            if encoding == "identity":
                return response, linked
            error = UnreadableError(
                f"{self.named(what)}: the server sends it with Content-Encoding {quoted(encoding, 40)}, "
                "although the bytes as they are were asked for",
                hint=_DOWNLOAD,
            )
        else:
            error = refusal(
                self.named(what),
                response.status_code,
                response.headers,
                page=self._page_at(here),
                token=bool(self._private),
            )
        response.close()
        raise error

    def _page_at(self, url: httpx.URL) -> str:
        """The hub's page, if ``url`` is the hub's; a storage host knows nothing of repositories."""
        return self.page if origin(url) == self._origin else ""

    def _send(self, url: httpx.URL, what: str, headers: Mapping[str, str], clock: Deadline) -> httpx.Response:
        from zoo.remote.client import httpx

        left = clock.left()
        if not left:
            raise TransientError(f"{self.named(what)}: no answer within {clock.seconds:g} seconds")
        patience = min(left, clock.seconds / 3)
        private = self._private if origin(url) == self._origin else {}
        request = self._client.build_request(
            "GET",
            url,
            headers={**self._common, **headers, **private},
            timeout=httpx.Timeout(patience, connect=min(patience, 10.0)),
        )
        try:
            return self._client.send(request, stream=True)
        except httpx.TimeoutException:
            message = f"{self.named(what)}: {url.host} did not answer within {patience:.3g} seconds"
            raise TransientError(message) from None
        except (httpx.ConnectError, httpx.ProxyError) as error:
            message = f"{self.named(what)}: {url.host} cannot be reached ({error})"
            raise TransientError(
                message, hint="check the connection and the name of the host", tries=3
            ) from None
        except httpx.TransportError as error:
            raise self._broken(what, error) from None

    def _chunks(self, response: httpx.Response, what: str, clock: Deadline) -> Iterator[bytes]:
        """The body as it arrives."""
        from zoo.remote.client import httpx

        try:
            for chunk in response.iter_raw():
                clock.moved(len(chunk))
                yield chunk
        except httpx.TimeoutException:
            raise TransientError(f"{self.named(what)}: the server stopped sending") from None
        except (httpx.TransportError, httpx.StreamError) as error:
            raise self._broken(what, error) from None

    def _broken(self, what: str, error: Exception) -> TransientError:
        # Not its text: of a request that could not be sent, it may quote the headers, and the token in them.
        return TransientError(f"{self.named(what)}: the connection broke ({type(error).__name__})")

    def _redirected(self, here: httpx.URL, location: str, what: str) -> httpx.URL:
        """Where a redirect leads, if it may lead there."""
        from zoo.remote.client import httpx

        named = self.named(what)
        try:
            there = here.join(location) if location else None
        except httpx.InvalidURL:
            there = None
        if there is None or not there.host:
            raise UnreadableError(f"{named}: a redirect to nowhere", hint=_DOWNLOAD)
        if there.userinfo:
            raise UnreadableError(f"{named}: a redirect with a password in it", hint=_DOWNLOAD)
        local = is_loopback(self._origin[1])
        if not is_secure(there) or (is_loopback(there.host) and not local):
            raise UnreadableError(
                f"{named}: a redirect to {quoted(_place(there))}, which is not https to another machine",
                hint=_DOWNLOAD,
            )
        if origin(there) == self._origin:
            return there
        from_storage = origin(here) != self._origin
        if not self.page or not (from_storage or "/resolve/" in here.path):
            hint = "give the address that it leads to" if not self.page else "check the endpoint"
            raise UnreadableError(f"{named}: a redirect to another host, {quoted(_place(there))}", hint=hint)
        return there

    def named(self, what: str) -> str:
        """``what`` of this source, for a message."""
        return f"{quoted(self.source, 400)}: {what}"


def _token() -> str | None:
    """The user's token, unless the user has forbidden its implicit use. (The client library's own function
    for headers asks huggingface.co for a list first, whatever the endpoint.)"""
    from huggingface_hub import constants, get_token

    return None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()


def _sendable(header: str) -> str:
    """``header``, if it can be sent at all. The message does not show it: it holds the token."""
    if not header.isascii() or not header.isprintable():
        raise UnreadableError(
            "the token holds characters that cannot be sent",
            hint="log in again (hf auth login), or mend HF_TOKEN",
        )
    return header


def _place(url: httpx.URL) -> str:
    """Scheme, host and port: the rest of a storage URL is a secret (its signature)."""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _skipped(chunks: Iterator[bytes], count: int) -> Iterator[bytes]:
    """``chunks`` without their first ``count`` bytes."""
    for chunk in chunks:
        if count < len(chunk):
            yield chunk[count:]
        count = max(0, count - len(chunk))
