"""Time limits, and when to try again. Nothing that is remote may take for ever.

A :class:`Deadline` ends an opening, whatever the servers do. A :class:`Pace` ends a stream that hardly moves:
a long download may take its hours, a stalled one may not.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from zoo.errors import UnreadableError

if TYPE_CHECKING:
    from tenacity import RetryCallState, Retrying

# Below this a stream is as good as stalled: 7 GB would take a week.
BYTES_PER_SECOND = 10_000
TRIES = 6
_MORE_TIME = "try again later, or give it more time: --timeout SECONDS"


class TransientError(UnreadableError):
    """Something that may go better in a moment. ``after``: seconds that the server asks to wait; ``tries``:
    how often it is worth trying."""

    def __init__(
        self, message: str, *, hint: str = _MORE_TIME, after: float = 0.0, tries: int = TRIES
    ) -> None:
        super().__init__(message, hint=hint)
        self.after = after
        self.tries = tries


class Deadline:
    """A moment at which everything that was begun must have ended. Threads may share one."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left, 0.0 when there are none."""
        return max(0.0, self._end - time.monotonic())

    def moved(self, count: int) -> None:
        """Note that ``count`` bytes arrived.

        Raises:
            UnreadableError: they arrived too late.
        """
        if not self.left():
            raise UnreadableError(f"not done within {self.seconds:g} seconds", hint=_MORE_TIME)

    def __enter__(self) -> None:
        """Begin to wait for the network."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End to wait for the network."""


class Pace(Deadline):
    """A limit for each part of a stream: so many seconds of waiting for every 10 kB times as many. Time in
    which nobody waits for the network does not count. For one thread."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self._waited = 0.0
        self._since: float | None = None
        self._count = 0

    def left(self) -> float:
        waiting = 0.0 if self._since is None else time.monotonic() - self._since
        return max(0.0, self.seconds - self._waited - waiting)

    def moved(self, count: int) -> None:
        self._count += count
        if self._count >= BYTES_PER_SECOND * self.seconds:
            self._waited, self._count = 0.0, 0
            self._since = None if self._since is None else time.monotonic()
        elif not self.left():
            hint = "check the connection, or download the checkpoint"
            raise UnreadableError(f"fewer than {BYTES_PER_SECOND:,} bytes a second arrive", hint=hint)

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._since is not None:
            self._waited += time.monotonic() - self._since
        self._since = None


def retrying(clock: Deadline) -> Retrying:
    """Try again after a :class:`TransientError`, for as long as ``clock`` has time for the next wait; the
    last error is raised."""
    import tenacity

    backoff = tenacity.wait_random_exponential(multiplier=clock.seconds / 100, max=clock.seconds / 5)

    def wait(state: RetryCallState) -> float:
        return max(_error(state).after, backoff(state))

    def stop(state: RetryCallState) -> bool:
        return state.attempt_number >= _error(state).tries or clock.left() <= state.upcoming_sleep

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientError), wait=wait, stop=stop, reraise=True
    )


def _error(state: RetryCallState) -> TransientError:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, TransientError)  # nothing else is tried again
    return error
