"""A file elsewhere as a readable object: read once from start to end, or a part of it, never written to disk.

    with Stream(web, url, "model.safetensors", clock, size=6_958_554_112) as file:
        file.read(1024)

A connection that breaks is taken up where it broke only if the server proves that it still is the same file:
by the size and a strong ETag, which both answers have (RFC 9110, 8.8.1 and 13.1.5). A weak ETag or a date may
be equal for other bytes. ``seek`` costs a new request.
"""

from __future__ import annotations

import io
from typing import Any

from zoo.errors import UnreadableError
from zoo.remote.limits import Deadline, TransientError, retrying
from zoo.remote.web import Answer, Web

_AGAIN = "run the command again; if it stays so, download the checkpoint and give its folder"
_SKIPPED = 1024 * 1024


class UnprovedError(UnreadableError):
    """The rest would come in another answer, and is of another file, or nothing proves that it is not."""


def is_strong(tag: str) -> bool:
    """Whether equal ETags mean equal bytes."""
    return tag.startswith('"')


class Stream(io.RawIOBase):
    """The bytes from ``begin`` to ``end`` of the file at ``url``, called ``name`` in messages. ``size``: of
    the whole file where it is known; otherwise the first answer tells it. ``end`` None: all of it.

    Reading raises UnreadableError when the file cannot be had within ``clock``, or changed meanwhile;
    UnprovedError when bytes of it are in use already and the rest is of another file, or may be.
    """

    def __init__(
        self,
        web: Web,
        url: str,
        name: str,
        clock: Deadline,
        *,
        size: int | None = None,
        begin: int = 0,
        end: int | None = None,
        tag: str = "",
    ) -> None:
        super().__init__()
        limit = size if end is None else end
        assert limit is not None, "without a size, an end is needed"
        self.size = size
        self.tag = tag
        self._web, self._url, self._name, self._clock = web, url, name, clock
        self._position = begin
        self._end = limit if size is None else min(limit, size)
        self._answer: Answer | None = None
        self._rest = memoryview(b"")
        self.validator = ""  # for If-Range
        self.proved_later = False  # a stated sha256 decides at the end, whatever answers the bytes came in
        self._begun = False  # bytes of an earlier answer are in use: all others must be of the same file

    def connect(self) -> int:
        """Ask for the first bytes, and return the size of the whole file, which the answer tells."""
        if self._answer is None:
            with self._clock:
                for attempt in retrying(self._clock):
                    with attempt:
                        self._connect()
        assert self.size is not None  # every answer tells it
        return self.size

    def resume(self, offset: int, validator: str) -> None:
        """Go on at ``offset``, after bytes that an earlier run got with ``tag`` and ``validator``."""
        self.seek(offset)
        self.validator, self._begun = validator, True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset < 0:
            raise io.UnsupportedOperation("a stream is only sought from its start")
        if self._begun and not self._joins():
            # Another answer could not be joined to this one: so read what lies between.
            while self._position < offset and self.read(min(_SKIPPED, offset - self._position)):
                pass
        if offset != self._position:
            self._drop()
            self._position = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        if not self._rest and self._position < self._end and len(view):
            with self._clock:
                self._rest = self._next()
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        self._position += count
        self._begun = self._begun or count > 0
        return count

    def close(self) -> None:
        self._drop()
        super().close()

    def _next(self) -> memoryview:
        """The next bytes, at least one; none only if the file turns out to end here."""
        for attempt in retrying(self._clock):
            with attempt:
                try:
                    return self._received()
                except UnreadableError:
                    self._drop()
                    raise
        raise AssertionError("unreachable: the last error is raised")

    def _received(self) -> memoryview:
        if self._answer is None:
            self._connect()
        assert self._answer is not None
        wanted = self._end - self._position
        chunk = next(self._answer.chunks, b"") if wanted > 0 else b""
        if wanted > 0 and not chunk:
            message = f"{self._named}: {wanted:,} bytes are missing at the end of the answer"
            raise TransientError(message, hint=_AGAIN)
        if len(chunk) >= wanted:
            # To the end of the answer, not of the file: so the connection can be used again.
            self._finish(self._answer)
        return memoryview(chunk)[:wanted]

    def _connect(self) -> None:
        answer = self._web.part(
            self._url, self._name, self._position, self._end, self._clock, validator=self.validator
        )
        try:
            self._refuse_other(answer)
        except UnreadableError:
            answer.close()
            raise
        self._answer = answer
        self.size = answer.total
        if not self._begun:  # the bytes in use are those of this answer
            self.tag, self.validator = answer.tag, answer.validator
        self._end = min(self._end, answer.total)

    def _refuse_other(self, answer: Answer) -> None:
        """Raises UnreadableError if ``answer`` is about another file than the answers before, or may be."""
        refused = UnprovedError if self._begun else UnreadableError
        if self.size is not None and answer.total != self.size:
            raise refused(
                f"{self._named} has {answer.total:,} bytes in this answer, and {self.size:,} in another",
                hint=_AGAIN,
            )
        joined = self._begun and not self.proved_later
        known = [(self.tag, answer.tag)] + ([(self.validator, answer.validator)] if joined else [])
        if any(before and now and before != now for before, now in known):
            raise refused(f"{self._named} changed while it was read", hint=_AGAIN)
        if joined and not (self._joins() and answer.tag == self.tag):
            raise UnprovedError(
                f"{self._named}: the connection broke and the server does not say whether the file changed "
                "(no strong ETag)",
                hint=_AGAIN,
            )

    def _joins(self) -> bool:
        """Whether bytes of several answers may be joined."""
        return self.proved_later or is_strong(self.tag)

    def _finish(self, answer: Answer) -> None:
        if answer.response.status_code == 206 and "content-length" in answer.response.headers:
            next(answer.chunks, None)
        self._drop_answer()

    def _drop(self) -> None:
        self._rest = memoryview(b"")
        self._drop_answer()

    def _drop_answer(self) -> None:
        if self._answer is not None:
            self._answer.close()
        self._answer = None

    @property
    def _named(self) -> str:
        return self._web.named(self._name)
