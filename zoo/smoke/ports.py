"""Ports: a free one for the server, and who listens on one.

The port on which the engine's own ranks meet is left to the engine: SGLang 0.5.14 and 0.5.23 choose a free
one just before they need it (server_args.py, PortArgs.init_new), later than we could, and a start that
collides all the same is repeated (zoo.smoke.server).
"""

from __future__ import annotations

import errno
import os
import socket

from zoo.errors import UsageError, ZooError
from zoo.printable import printable

# Every address of the machine; a client asks the loopback.
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class PortInUseError(ZooError):
    """Another process listens on the port that the server should have."""


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on now. Another process may take it before the server does: the start is
    then diagnosed, and repeated with another port.

    Raises UsageError if ``host`` is no address of this machine.
    """
    with _socket(host) as made:
        _bind(made, host, 0)
        port: int = made.getsockname()[1]
        return port


def ensure_free(host: str, port: int) -> None:
    """Raise PortInUseError if something listens on the port, UsageError if it cannot be had at all."""
    with _socket(host) as made:
        try:
            _bind(made, host, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise in_use(host, port) from error
            raise UsageError(
                f"port {port} of {printable(host)} cannot be used: {error.strerror}",
                hint="leave --port out, and a free one is taken (below 1024 needs the rights of root)",
            ) from error


def in_use(host: str, port: int) -> PortInUseError:
    pids = listeners(port)
    by = f" by process {', '.join(map(str, pids))}" if pids else ""
    return PortInUseError(
        f"port {port} of {printable(host)} is in use{by}",
        hint=f"leave --port out, and a free one is taken; or ask what runs there: zoo smoke NAME --attach "
        f"{url_of(host, port)}",
    )


def is_open(host: str, port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection((_ANY.get(host, host), port), timeout=2):
            return True
    except OSError:
        return False


def url_of(host: str, port: int) -> str:
    """Where a client on this machine reaches a server that binds to ``host``."""
    reached = _ANY.get(host, host)
    return f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"


def listeners(port: int) -> tuple[int, ...]:
    """The processes that listen on the port, as far as this user may see them; none without psutil."""
    try:
        import psutil
    except ImportError:
        return ()
    try:
        connections = psutil.net_connections(kind="tcp")
    except (psutil.Error, OSError):  # macOS shows them to root only
        return ()
    found = {
        each.pid
        for each in connections
        if each.pid is not None and each.status == psutil.CONN_LISTEN and each.laddr.port == port
    }
    return tuple(sorted(found - {os.getpid()}))


def _socket(host: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    # A port in TIME_WAIT is free; on Linux this does not reach past somebody who listens.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def _bind(made: socket.socket, host: str, port: int) -> None:
    try:
        made.bind((host, port))
    except (socket.gaierror, OverflowError) as error:
        raise UsageError(
            f"{printable(host)}:{port} is no address", hint="give --host 127.0.0.1 and a port up to 65535"
        ) from error
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        raise UsageError(
            f"{printable(host)} is no address of this machine", hint="give --host 127.0.0.1"
        ) from error
