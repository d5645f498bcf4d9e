"""Several things at once, until a moment. Nothing that hangs keeps the caller, or the process, from ending:
these threads are daemons, while those of ``concurrent.futures`` are waited for at exit."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

AT_ONCE = 8
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def at_once(work: Callable[[_Item], _Result], items: Iterable[_Item], seconds: float) -> list[_Result]:
    """The results of ``work`` for all ``items``, in their order.

    Raises:
        TimeoutError: not all ended within ``seconds``; what still runs is left alone.
        Exception: the first that ``work`` raised; what was not begun is not begun.
    """
    todo = deque(enumerate(items))
    count = len(todo)
    done: SimpleQueue[tuple[int, _Result | None, Exception | None]] = SimpleQueue()

    def run() -> None:
        while True:
            try:
                index, item = todo.popleft()
            except IndexError:
                return
            try:
                done.put((index, work(item), None))
            except Exception as error:
                done.put((index, None, error))

    for _ in range(min(AT_ONCE, count)):
        Thread(target=run, daemon=True).start()
    end, results = time.monotonic() + seconds, {}
    try:
        for _ in range(count):
            index, result, error = done.get(timeout=max(0.0, end - time.monotonic()))
            if error is not None:
                raise error
            results[index] = result
    except Empty:
        raise TimeoutError from None
    finally:
        todo.clear()
    return [results[index] for index in range(count)]  # type: ignore[misc]  # None only beside an error
