"""What this process does while it judges a hostile change, by the audit events of Python itself (PEP 578):
which files it opens, where it connects, which programs it starts, whether it unpickles."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zoo
from zoo.checkpoint.cache import cache_folder
from zoo.ci.git import _QUIET as QUIET

# The tool itself, Python and its packages, and what a package asks the system about itself.
_OWN = tuple(Path(each).resolve() for each in (zoo.__path__[0], sys.prefix, sys.base_prefix, "/proc"))
_NOWHERE = Path("/dev/null")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class Seen:
    """``read`` and ``written``: files by their real paths, whatever link led there; ``contacted``: addresses
    and names of hosts; ``started``: argv of programs; ``unpickled``: names that a pickle asked for."""

    read: set[Path] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)
    contacted: list[Any] = field(default_factory=list)
    started: list[list[str]] = field(default_factory=list)
    unpickled: list[str] = field(default_factory=list)

    def stayed_within(self, root: Path, output: Path) -> None:
        """Read was only the zoo at ``root`` and what is the tool's own, written only ``output`` and a
        private folder, started only git, with the options that keep it quiet."""
        cache = cache_folder()  # the user's own, of checkpoints that were scanned before
        ours = (*_OWN, _NOWHERE, root, output, *([cache] if cache else []))
        strange = {path for path in self.read if not _within(path, ours)}
        assert not strange, f"read outside of the zoo: {strange}"
        strange = {
            path for path in self.written if not _within(path, (output, _NOWHERE)) and path.suffix != ".pyc"
        }
        assert not strange, f"written: {strange}"
        for argv in self.started:
            assert tuple(argv[: len(QUIET) + 1]) == ("git", *QUIET), f"started: {argv}"
        assert self.unpickled == []


def _within(path: Path, folders: tuple[Path, ...]) -> bool:
    """Whether ``path`` lies in one of ``folders``, or in a private one of the tool."""
    private = Path(tempfile.gettempdir()).resolve()
    if path.is_relative_to(private) and path.relative_to(private).parts[0].startswith("zoo-"):
        return True
    return any(path.is_relative_to(folder.resolve()) for folder in folders)


_watching: list[Seen] = []


@contextmanager
def watched() -> Iterator[Seen]:
    """Everything that this process does meanwhile."""
    seen = Seen()
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _watching:
        return
    match event:
        case "open" if isinstance(args[0], str | bytes):
            path, mode, flags = os.fsdecode(args[0]), args[1] or "", args[2] or 0
            # A bare name is one in a folder that is open already, as when a private folder is removed.
            for seen in _watching if "/" in path else ():
                writes = flags & _WRITING or any(each in mode for each in "wax+")
                (seen.written if writes else seen.read).add(_real(path))
        case "os.listdir" | "os.scandir" if isinstance(args[0], str | bytes):
            folder = os.fsdecode(args[0])
            for seen in _watching if folder not in (*sys.path, str(Path.cwd())) else ():  # as import does
                seen.read.add(_real(folder))
        case "socket.connect" | "socket.getaddrinfo" | "socket.sendto":
            where = args[1] if event != "socket.getaddrinfo" else args[:2]
            for seen in _watching:
                seen.contacted.append(where)
        case "subprocess.Popen" | "os.posix_spawn" | "os.exec":
            argv = args[1]
            for seen in _watching:
                seen.started.append([os.fsdecode(each) for each in argv])
        case "os.system":
            for seen in _watching:
                seen.started.append([os.fsdecode(args[0])])
        case "pickle.find_class":
            for seen in _watching:
                seen.unpickled.append(".".join(map(str, args)))


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))  # unlike resolve(), whatever is wrong with the path


sys.addaudithook(_hook)  # for good: Python cannot take one away
