"""Paths that a pull request can fill: read within bounds, and never through a link. Git carries links, and
what lies where one of them leads is not ours to read or to write."""

from __future__ import annotations

import errno
from pathlib import Path, PurePosixPath

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import ReleaseRefusedError, UnreadableError
from zoo.printable import quoted
from zoo.workspace import Zoo

# Cards have at most a million characters; logs and manifests are far smaller.
SIZE_LIMIT = 8 * 1024 * 1024
# Where the plots of a card lie, below the folder of a release.
PLOTS = "plots/"


def is_plot(path: str) -> bool:
    """Whether a file of a release is a plot of its card, by its path."""
    return path.startswith(PLOTS) and path.endswith(".svg")


# Reading these, or importing them, runs what somebody else wrote.
_RUNS = frozenset(".py .pyc .so .sh .pkl .pickle .pt .pth .bin .ckpt .joblib .npy .npz .msgpack .h5".split())


def can_run(path: str) -> bool:
    """Whether a file holds code, or a format that runs code when it is loaded, by its name. No release holds
    one, and none is downloaded."""
    return PurePosixPath(path).suffix.lower() in _RUNS


def first_link(path: Path, root: Path) -> Path | None:
    """The first part of ``path`` that lies in the folder ``root`` and is a link, or None."""
    parts = reversed((path, *path.parents))
    return next(
        (part for part in parts if part.is_symlink() and part.parent.resolve().is_relative_to(root)), None
    )


def read_small(path: Path) -> bytes:
    """The content of a small regular file.

    Raises OSError, also if it is a FIFO, a device or larger than :data:`SIZE_LIMIT`.
    """
    with open_regular(path) as file:
        content = read_up_to(file, SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise OSError(errno.EFBIG, f"more than {SIZE_LIMIT:,} bytes")
    return content


def refuse_links(zoo: Zoo, path: Path) -> None:
    """Make sure that no part of ``path``, which is below ``release/``, is a link.

    Raises:
        ReleaseRefusedError: one is.
    """
    if (link := first_link(path, zoo.root)) is not None:
        raise ReleaseRefusedError(
            f"{quoted(zoo.shown(link))} is a link, and below release/ nothing is read or written through one",
            hint="replace the link by a file or folder of its own",
        )


def read(zoo: Zoo, path: Path) -> bytes | None:
    """The content of a small file below ``release/``, or None if there is none.

    Raises:
        ReleaseRefusedError: a part of the path is a link.
        UnreadableError: it is no regular file, too large, or cannot be read.
    """
    refuse_links(zoo, path)
    try:
        return read_small(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(
            f"{quoted(zoo.shown(path))} cannot be read ({error.strerror})",
            hint=f"move it away; what was committed comes back with: git checkout -- {zoo.shown(path)}",
        ) from error
