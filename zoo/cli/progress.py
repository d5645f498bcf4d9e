"""How far a pass over every byte is, on a terminal only and only if it takes a while."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

_PATIENCE = 1.0  # seconds without a display
_EVERY = 0.1


@contextmanager
def bytes_read() -> Iterator[Shown | None]:
    """A display to tell the bytes of each buffer, or None where nobody looks; it goes away at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    shown = Shown()
    try:
        yield shown
    finally:
        shown.stop()


class Shown:
    """What was read so far, of how much, and how long the rest will take."""

    def __init__(self) -> None:
        self._started = self._drawn = monotonic()
        self._total = self._expected = 0
        self._width = 0

    def expect(self, count: int) -> None:
        """``count`` more bytes are to be read."""
        self._expected += count

    def __call__(self, count: int) -> None:
        """``count`` bytes were read."""
        self._total += count
        now = monotonic()
        if now - self._started < _PATIENCE or now - self._drawn < _EVERY:
            return
        self._drawn = now
        rate = self._total / (now - self._started)
        text = f"read {self._total / 1e9:.2f} GB, {rate / 1e9:.2f} GB/s"
        if self._expected > self._total and rate:
            left = (self._expected - self._total) / rate
            text = f"read {self._total / 1e9:.2f} of {self._expected / 1e9:.2f} GB, {left:.0f} s left"
        self._width = max(self._width, len(text))
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)

    def stop(self) -> None:
        if self._width:
            print("\r" + " " * self._width + "\r", end="", file=sys.stderr, flush=True)
