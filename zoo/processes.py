"""The same work on many items, in several processes: rules are Python, and one process uses one core.

Each process takes every ``jobs``-th item and sends its results through a pipe of its own, so that they arrive
in the order of the items whatever is done first. A process ends with the one that started it: on Ctrl-C, on
SIGTERM, and when that one is killed, because then nobody reads the pipe.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from zoo.errors import ZooError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

Item = TypeVar("Item")
Result = TypeVar("Result")
# Starting a process takes about as long as verifying one recipe.
_WORTH_A_PROCESS = 4
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class WorkerLostError(ZooError):
    """A process ended before its work was done: killed, most likely for its memory."""


def cores() -> int:
    """The cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux only
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def default_jobs(count: int) -> int:
    """How many processes are worth it for ``count`` items: at most one per core."""
    return max(1, min(cores(), count // _WORTH_A_PROCESS))


def in_order(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> list[Result]:
    """``work`` of all ``items``, in their order, by ``jobs`` processes; by this one if that is 1. ``work``,
    items and results are pickled (``work`` where processes cannot be forked).

    Raises:
        ZooError: the first that ``work`` raises, in the order of the items.
        WorkerLostError: a process ended.
        RuntimeError: ``work`` raised something else, whose traceback it holds.
    """
    jobs = min(jobs, len(items))
    if jobs <= 1:
        return [work(item) for item in items]
    from multiprocessing import get_context

    # Forking is safe here (nothing has started a thread yet) and spares importing all of zoo again.
    context: Any = get_context("fork" if sys.platform == "linux" else "spawn")
    workers: list[tuple[BaseProcess, Connection]] = []
    try:
        for first in range(jobs):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(work, items[first::jobs], sender), daemon=True)
            # A signal waits until the new process treats it by itself, and until this one knows the process.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
            try:
                process.start()
                workers.append((process, receiver))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            sender.close()
        return [_received(*workers[index % jobs]) for index in range(len(items))]
    finally:
        for process, receiver in workers:
            receiver.close()
            process.terminate()
        for process, _ in workers:
            process.join()


def _received(process: BaseProcess, receiver: Connection) -> Any:
    try:
        result, error = receiver.recv()
    except EOFError:
        process.join()
        raise WorkerLostError(
            f"a process of this command ended too early (exit code {process.exitcode})",
            hint="memory may be short: run the command again with --jobs 1",
        ) from None
    if error is not None:
        raise error
    return result


def _work(work: Callable[[Item], Result], items: Sequence[Item], sender: Connection) -> None:
    """What a process does. It ends silently on a signal, and when nobody wants its results any more."""
    for number in _STOPS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
    try:
        for item in items:
            try:
                sender.send((work(item), None))
            except ZooError as error:
                sender.send((None, error))
            except BrokenPipeError:
                raise
            except Exception:
                import traceback

                sender.send((None, RuntimeError(f"in a process of this command:\n{traceback.format_exc()}")))
    except BrokenPipeError:
        return
