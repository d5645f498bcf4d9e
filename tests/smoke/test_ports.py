"""Ports of real sockets."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from zoo.errors import UsageError
from zoo.smoke import ports

LISTENS = (
    "import socket, sys\n"
    "made = socket.create_server(('127.0.0.1', 0))\n"
    "print(made.getsockname()[1], flush=True)\n"
    "sys.stdin.read()"
)


def test_a_free_port_can_be_had() -> None:
    port = ports.free_port()
    ports.ensure_free("127.0.0.1", port)
    assert not ports.is_open("127.0.0.1", port)


@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_a_port_where_somebody_listens_is_in_use(bound: str) -> None:
    with socket.create_server((bound, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ports.PortInUseError, match="is in use") as error:
            ports.ensure_free("127.0.0.1", port)
        assert f"--attach http://127.0.0.1:{port}" in error.value.hint
        assert ports.is_open(bound, port)


def test_a_port_that_was_just_closed_is_free() -> None:
    """A connection in TIME_WAIT is nobody who listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            accepted, _ = server.accept()
            accepted.close()  # first, so that this side waits
    ports.ensure_free("127.0.0.1", port)


def test_the_process_that_listens_is_named() -> None:
    pytest.importorskip("psutil")
    with subprocess.Popen(
        [sys.executable, "-c", LISTENS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        assert ports.listeners(port) == (other.pid,)
        with pytest.raises(ports.PortInUseError, match=f"in use by process {other.pid}"):
            ports.ensure_free("127.0.0.1", port)
        other.communicate()


def test_this_process_is_no_foreign_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mine:
        assert os.getpid() not in ports.listeners(mine.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70000), ("203.0.113.9", 0)]
)
def test_what_is_no_address_here_is_said(host: str, port: int) -> None:
    with pytest.raises(UsageError, match="no address"):
        ports.ensure_free(host, port)


def test_the_url_of_a_host_is_one_that_a_client_reaches() -> None:
    assert ports.url_of("0.0.0.0", 30000) == "http://127.0.0.1:30000"
    assert ports.url_of("::", 30000) == "http://[::1]:30000"
    assert ports.url_of("127.0.0.1", 30000) == "http://127.0.0.1:30000"
