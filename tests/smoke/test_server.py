"""Starting a server, waiting for it, and leaving nothing of it, with real processes that behave badly."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from zoo.errors import UsageError
from zoo.smoke import ports, processes
from zoo.smoke.client import Client, NoAnswerError
from zoo.smoke.failed import failure
from zoo.smoke.server import Limits, Server, ServerFailedError, Starting, serving, with_python

SERVERS = Path(__file__).with_name("servers.py")
LIMITS = Limits(start_s=20, no_progress_s=10, stop_s=5)


def command(kind: str) -> Callable[[int], list[str]]:
    return lambda port: [sys.executable, str(SERVERS), kind, str(port)]


@contextmanager
def served(kind: str, log: Path, limits: Limits = LIMITS, **options: object) -> Iterator[Server]:
    environment = options.pop("environment", {})
    with serving(command(kind), environment=environment, log=log, limits=limits, **options) as server:  # type: ignore[arg-type]
        yield server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "server.log"


def alive(pid: int) -> bool:
    """A zombie, which waits for whoever inherited it, is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pids: tuple[int, ...], seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_a_healthy_server_is_ready_and_ends_cleanly(log: Path) -> None:
    with served("healthy", log) as server:
        assert ports.is_open("127.0.0.1", server.port)
        assert "ready to roll" in server.log_text()
        assert server.alive()
        server.check()
        pids = server.pids
    stopped = server.stop()
    assert stopped.clean
    assert (stopped.exit_code, stopped.forced, stopped.port_closed, stopped.survivors) == (0, False, True, ())
    assert pids
    assert gone(pids)


def test_a_server_that_kills_itself_after_sigterm_ends_cleanly(log: Path) -> None:
    with served("kills-itself", log) as server:
        pass
    assert server.stop().exit_code == -signal.SIGKILL
    assert server.stop().clean


def test_a_server_that_ignores_sigterm_is_killed_and_that_is_not_clean(log: Path) -> None:
    with served("deaf", log, Limits(start_s=20, stop_s=0.5)) as server:
        pids = server.pids
    stopped = server.stop()
    assert stopped.forced
    assert not stopped.clean
    assert gone(pids)


def test_grandchildren_end_too_also_one_with_a_session_of_its_own(log: Path) -> None:
    with served("children", log, Limits(start_s=20, stop_s=0.5)) as server:
        pids = server.pids
        assert len(pids) == 3
    assert server.stop().survivors == ()
    assert gone(pids)


def test_a_failed_start_leaves_nothing_not_even_for_a_moment(log: Path) -> None:
    with pytest.raises(ServerFailedError, match="flux capacitor"), served("children-then-fails", log):
        pass
    pids = [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("child ")]
    assert len(pids) == 2
    assert not any(map(alive, pids))
    assert not children("smoke/processes.py")  # the watcher


def children(of: str) -> list[int]:
    """The processes whose parent is this one, zombies too, with a word in their command."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and of in (entry / "cmdline").read_text():
                found.append(int(entry.name))
    return found


# Its first thread ends, so that the process looks like a zombie, and another one works on.
HALF_DEAD = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("ready", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_process_whose_first_thread_has_ended_is_still_there() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HALF_DEAD], stdout=subprocess.PIPE, start_new_session=True
    ) as half:
        try:
            assert half.stdout is not None
            half.stdout.readline()
            end = time.monotonic() + 10
            while alive(half.pid) and time.monotonic() < end:
                time.sleep(0.02)
            assert not alive(half.pid)
            assert processes.members(half.pid, "no-mark") == (half.pid,)
            assert processes.kill(half.pid, "no-mark") == ()
        finally:
            half.kill()


def test_nothing_is_imported_from_the_folder_that_the_caller_is_in(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = tmp_path / "here"
    (stray / "zoo").mkdir(parents=True)
    for path in (stray / "zoo/__init__.py", stray / "torch.py"):
        path.write_text("raise SystemExit('stray')\n")
    monkeypatch.chdir(stray)
    with serving(
        lambda port: [sys.executable, "-m", "servers", "imports", str(port)],
        environment={"PYTHONPATH": str(SERVERS.parent)},  # what the user sets stays
        log=log,
        limits=LIMITS,
    ) as server:
        assert "zoo is" in server.log_text()
        assert str(stray) not in server.log_text()


def test_a_server_that_is_stopped_in_the_middle_is_said_not_to_answer(log: Path) -> None:
    with (
        served("healthy", log, Limits(start_s=20, stop_s=0.5)) as server,
        Client(server.url, timeout_s=0.5) as client,
    ):
        os.kill(server.pid, signal.SIGSTOP)
        with pytest.raises(NoAnswerError, match=r"the server does not answer: .*/generate gave no answer in"):
            client.generate((1, 2), max_new_tokens=1)
    assert not alive(server.pid)


def test_what_a_start_does_is_told(log: Path) -> None:
    told: list[Starting] = []
    with served("slow", log, told=told.append):
        pass
    assert any("checkpoint shards" in each.line for each in told)
    assert [each.attempt for each in told] == [1] * len(told)


@pytest.mark.parametrize(
    ("kind", "status", "cause", "advice"),
    [
        ("wrong-flag", 1, "the engine refuses an argument of the command", "zoo launch --check"),
        ("gpu-memory", 2, "the GPU ran out of memory", "--mem-fraction-static"),
        ("fc-width", 1, "fc.weight of the draft has another width", "zoo verify"),
        (
            "long-log",
            1,
            "the mask token of the draft is outside the vocabulary",
            "dflash_config.mask_token_id",
        ),
        ("unheard-of", 2, "RuntimeError: the flux capacitor is empty", "tail -n 50"),
        ("unheard-of-scheduler", 2, "sglang.FluxError: the flux capacitor is empty", "tail -n 50"),
        ("quiet-death", 2, "cause unknown, the last line of its log is: -", "tail -n 50"),
    ],
)
def test_a_server_that_does_not_come_up_gives_its_cause_first(
    kind: str, status: int, cause: str, advice: str, log: Path
) -> None:
    with pytest.raises(ServerFailedError) as failed, served(kind, log):
        pass
    error = failed.value
    assert error.message.startswith(cause)
    assert "\n" not in error.message
    assert str(log) in error.message
    assert "before it was ready" in error.message
    assert advice in error.hint
    assert error.exit_status == status


def test_the_exit_status_of_the_server_is_in_the_message(log: Path) -> None:
    with (
        pytest.raises(ServerFailedError, match="the server ended with status 2 before it was ready"),
        served("wrong-flag", log),
    ):
        pass
    with (
        pytest.raises(ServerFailedError, match="the server was ended by SIGKILL before it was ready"),
        served("gpu-memory", log),
    ):
        pass


def test_a_start_that_hangs_is_ended_when_nothing_was_logged_for_the_limit(log: Path) -> None:
    begin = time.monotonic()
    with (
        pytest.raises(ServerFailedError) as failed,
        served("silent", log, Limits(no_progress_s=1.5, stop_s=2)),
    ):
        pass
    assert time.monotonic() - begin < 8
    assert "the start hangs, the last line of its log is: Loading weights" in failed.value.message
    assert "logged nothing for 1.5 s" in failed.value.message
    assert failed.value.exit_status == 2


def test_a_start_that_never_ends_is_ended_though_it_logs(log: Path) -> None:
    with (
        pytest.raises(ServerFailedError, match="was not ready after 2 s"),
        served("chatty", log, Limits(start_s=2, no_progress_s=1, stop_s=2)),
    ):
        pass


def test_a_port_in_use_is_an_error_before_anything_starts(log: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ports.PortInUseError, match=f"port {port} of 127.0.0.1 is in use"),
            served("healthy", log, port=port),
        ):
            pass
    assert not log.exists()


def test_a_start_whose_ranks_collide_is_repeated_with_another_port(log: Path, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    environment = {"TRIED": str(tried), "COLLISIONS": "2"}
    with served("collides-once", log, environment=environment) as server:
        assert ports.is_open("127.0.0.1", server.port)
    assert len(set(tried.read_text().split())) == 3
    assert "DistNetworkError" in log.with_name("server.1.log").read_text()


def test_a_start_that_always_collides_fails_after_three_times(log: Path, tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    environment = {"TRIED": str(tried), "COLLISIONS": "9"}
    with (
        pytest.raises(ServerFailedError, match="ranks meet was taken"),
        served("collides-once", log, environment=environment),
    ):
        pass
    assert len(tried.read_text().split()) == 3


def test_a_server_killed_in_the_middle_is_the_cause_of_what_the_client_met(log: Path) -> None:
    def asks(server: Server) -> None:
        os.kill(server.pid, signal.SIGKILL)
        raise ConnectionResetError("the client met this")

    with pytest.raises(ServerFailedError) as failed, served("healthy", log) as server:
        asks(server)
    assert failed.value.message.startswith("the server was killed from outside")
    assert "in the middle of the run" in failed.value.message
    assert failed.value.exit_status == 2
    assert isinstance(failed.value.__cause__, ConnectionResetError)


def test_a_server_that_died_is_seen_when_it_is_checked(log: Path) -> None:
    with served("dies-later", log) as server:
        assert gone((server.pid,))
        with pytest.raises(ServerFailedError, match="status 1 in the middle of the run"):
            server.check()
    assert server.stop().by_itself
    assert not server.stop().clean


def test_an_error_of_the_block_is_left_alone_while_the_server_lives(log: Path) -> None:
    with pytest.raises(KeyError), served("healthy", log) as server:
        raise KeyError("mine")
    assert server.stop().clean


def test_ctrl_c_in_the_block_ends_the_server(log: Path) -> None:
    pids: list[int] = []

    def asks(server: Server) -> None:
        pids.extend(server.pids)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), served("children", log, Limits(stop_s=0.3)) as server:
        asks(server)
    assert len(pids) == 3
    assert gone(tuple(pids))


def test_a_program_that_is_not_there_is_named(log: Path) -> None:
    with (
        pytest.raises(UsageError, match='"no-such-engine" of the launch command cannot be run') as failed,
        serving(lambda port: ["no-such-engine", str(port)], environment={}, log=log, limits=LIMITS),
    ):
        pass
    assert "--python" in failed.value.hint


def test_the_environment_of_the_profile_goes_over_that_of_the_caller(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_verysecret")
    monkeypatch.setenv("PROFILE", "of the caller")
    with served("secret", log, environment={"PROFILE": "of the profile"}) as server:
        assert "token in the environment: True of the profile" in server.log_text()
    assert "hf_verysecret" not in log.read_text()


KILLED_ZOO = f"""
import sys, time
from pathlib import Path
from zoo.smoke.server import Limits, serving
argv = lambda port: [sys.executable, {str(SERVERS)!r}, "children", str(port)]
with serving(argv, environment={{}}, log=Path(sys.argv[1]), limits=Limits(stop_s=1)) as server:
    print(*server.pids, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_zoo_that_is_killed_leaves_no_server(number: signal.Signals, log: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_ZOO, str(log)], stdout=subprocess.PIPE, text=True
    ) as zoo:
        assert zoo.stdout is not None
        pids = tuple(map(int, zoo.stdout.readline().split()))
        assert len(pids) == 3
        zoo.send_signal(number)
        zoo.wait()
    try:
        assert gone(pids, seconds=20)
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_full_disk_is_the_cause(small_disk: Path) -> None:
    log = small_disk / "server.log"
    with pytest.raises(ServerFailedError) as failed, served("fills-the-disk", log):
        pass
    assert failed.value.message.startswith(f"no space is left on the disk of the log, {small_disk}")
    assert failed.value.exit_status == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system needs the right to mount one")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_no_space_in_the_log_is_the_cause_too(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("Traceback\nOSError: [Errno 28] No space left on device: '/dev/shm/x'\n")
    error = failure("before it was ready", log=log, exit_code=1)
    assert error.message.startswith("no space is left on a disk: OSError: [Errno 28]")
    assert "--shm-size" in error.hint


def test_an_interpreter_takes_the_place_of_the_first_word() -> None:
    argv, environment = with_python(["python3", "-m", "sglang.launch_server"], "/venv/bin/python")
    assert argv == ["/venv/bin/python", "-m", "sglang.launch_server"]
    assert environment["PATH"].split(os.pathsep)[0] == "/venv/bin"
    assert with_python(["sglang", "serve"], "/venv/bin/python")[0] == ["sglang", "serve"]
    assert with_python(["python", "x.py"], None) == (["python", "x.py"], {})
