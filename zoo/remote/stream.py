"""A file elsewhere as a readable object: read once from start to end, or a part of it, never written to disk.

    with Stream(web, url, "model.safetensors", clock, size=6_958_554_112) as file:
        file.read(1024)

A connection that breaks is taken up where it broke, of the same file: the size and the ETag must be what they
were. ``seek`` costs a new request.
"""

from __future__ import annotations

import io
from typing import Any

from zoo.errors import UnreadableError
from zoo.remote.limits import Deadline, TransientError, retrying
from zoo.remote.web import Answer, Web

_AGAIN = "run the command again; if it stays so, download the checkpoint and give its folder"


class Stream(io.RawIOBase):
    """The bytes from ``begin`` to ``end`` of the file at ``url``, called ``name`` in messages. ``size``: of
    the whole file where it is known; otherwise the first answer tells it. ``end`` None: all of it.

    Reading raises UnreadableError when the file cannot be had within ``clock``, or changed meanwhile.
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
        self.validator = ""  # for If-Range; whoever has the beginning of an earlier run may set it

    def connect(self) -> int:
        """Ask for the first bytes, and return the size of the whole file, which the answer tells."""
        if self._answer is None:
            with self._clock:
                for attempt in retrying(self._clock):
                    with attempt:
                        self._connect()
        assert self.size is not None  # every answer tells it
        return self.size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence != io.SEEK_SET or offset < 0:
            raise io.UnsupportedOperation("a stream is only sought from its start")
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
        problem = ""
        if self.size is not None and answer.total != self.size:
            problem = f"has {answer.total:,} bytes in this answer, and {self.size:,} in another"
        elif self.tag and answer.tag and answer.tag != self.tag:
            problem = "changed while it was read"
        if problem:
            answer.close()
            raise UnreadableError(f"{self._named} {problem}", hint=_AGAIN)
        self._answer = answer
        self.size, self.tag = answer.total, self.tag or answer.tag
        self.validator = self.validator or answer.validator
        self._end = min(self._end, answer.total)

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
