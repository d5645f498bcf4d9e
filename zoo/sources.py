"""Opening the checkpoint that a source names: a local folder, a repository of a hub, a folder of a web
server.

    with Sources(Remote()) as sources:
        checkpoint = sources.open("hf://owner/name@v1.0.0")
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from zoo.checkpoint.folder import open_checkpoint
from zoo.errors import UnreadableError
from zoo.printable import printable, quoted
from zoo.remote.address import Remote, is_remote

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.workspace import Zoo


class Sources:
    """Opens checkpoints; the remote ones can be read until the context ends. Without ``remote``, only local
    folders are opened."""

    def __init__(self, remote: Remote | None = None) -> None:
        self._remote = remote
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def open(self, source: str, *, zoo: Zoo | None = None) -> Checkpoint:
        """The checkpoint that ``source`` names. With ``zoo``, a recipe of it says so, and not the user:
        relative folders start at its root, and its settings say which hosts may be contacted.

        Raises:
            UnreadableError: it cannot be opened, or must not be.
        """
        if self._remote is None or not is_remote(source):
            return open_checkpoint(local_folder(zoo, source), source)
        from zoo.remote.source import opened

        remote = self._remote if zoo is None else replace(self._remote, allowed=zoo.endpoints)
        return self._stack.enter_context(opened(source, remote, typed=zoo is None))


def local_folder(zoo: Zoo | None, source: str) -> Path:
    """The folder that ``source`` names. A recipe's relative folders start at the root of the zoo.

    Raises:
        UnreadableError: the source is not a local folder.
    """
    then = "name that folder instead" if zoo is None else "add --checkpoint FOLDER"
    if source.startswith("hf://"):
        repo, _, revision = source.removeprefix("hf://").partition("@")
        pin = f" --revision {revision}" if revision else ""
        raise UnreadableError(
            f"{quoted(source)} is on the Hub, and this command reads local folders only",
            hint=f"run: hf download {printable(repo + pin)} --local-dir FOLDER; then {then}",
        )
    if is_remote(source):
        raise UnreadableError(
            f"{quoted(source)} is remote, and this command reads local folders only",
            hint=f"download it, then {then}",
        )
    path = Path(source).expanduser()
    return path if zoo is None or path.is_absolute() else zoo.root / path
