"""Work in several processes: results in order, errors as they are, and no process that outlives its work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zoo.errors import InvalidRecipeError, UsageError
from zoo.processes import WorkerLostError, cores, default_jobs, in_order
from zoo.results import Finding

SLEEPERS = """
import os, time
from zoo.processes import in_order

def work(item):
    os.write(2, f"{os.getpid()}{os.linesep}".encode())
    time.sleep(60)

in_order(work, [1, 2, 3], 3)
"""
# Signals end the command of the line above as they end zoo: by KeyboardInterrupt.
AS_ZOO = "import signal\nsignal.signal(signal.SIGTERM, signal.default_int_handler)\n"


def later_first(item: int) -> tuple[int, int]:
    time.sleep(0.05 * (3 - item))
    return item, os.getpid()


def refuse_three(item: int) -> int:
    if item == 3:
        raise UsageError("three is refused", hint="take another number")
    return item


def fail(item: int) -> int:
    return 1 // item


def vanish(item: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def test_results_come_in_the_order_of_the_items_and_from_other_processes() -> None:
    results = in_order(later_first, [0, 1, 2, 3], 2)
    assert [item for item, _ in results] == [0, 1, 2, 3]
    assert len({pid for _, pid in results} - {os.getpid()}) == 2


def test_one_job_is_this_process() -> None:
    assert {pid for _, pid in in_order(later_first, [3, 3], 1)} == {os.getpid()}


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_error_of_an_item_is_raised_with_its_hint(jobs: int) -> None:
    with pytest.raises(UsageError, match="three is refused") as caught:
        in_order(refuse_three, [1, 2, 3, 4], jobs)
    assert caught.value.hint == "take another number"


def test_an_error_with_findings_travels_whole() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(InvalidRecipeError("x", (Finding("wrong", "mend it"),))))
    assert (type(error), error.findings[0].message, error.exit_status) == (InvalidRecipeError, "wrong", 1)


def test_a_fault_shows_where_it_happened() -> None:
    with pytest.raises(RuntimeError, match="return 1 // item"):
        in_order(fail, [1, 0], 2)


def test_a_process_that_was_killed_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(WorkerLostError, match="exit code -9"):
        in_order(vanish, [1, 2], 2)


def test_few_items_are_not_worth_many_processes() -> None:
    assert (default_jobs(0), default_jobs(3), default_jobs(10**6)) == (1, 1, cores())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_processes_end_with_the_one_that_started_them(tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "script.py"
    text = SLEEPERS.replace("time.sleep(60)", "time.sleep(1)") if number is signal.SIGKILL else SLEEPERS
    script.write_text(AS_ZOO + text)
    with subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        pids = [int(process.stderr.readline()) for _ in range(3)]
        process.send_signal(number)
        said = process.stderr.read()  # returns when the last process that holds it has ended
    assert len(pids) == 3
    # The traceback of the script itself; the processes end silently.
    assert said.count("Traceback") == (0 if number is signal.SIGKILL else 1)
