"""Opening the sources of an untrusted recipe: a folder outside of the zoo is not looked into, and a server
that gives no answer is asked once, not once for each of a thousand recipes."""

from __future__ import annotations

from zoo.checkpoint.model import Checkpoint
from zoo.ci.names import folded
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.remote.address import HUB, Remote, is_remote
from zoo.remote.limits import TransientError
from zoo.sources import Sources, local_folder
from zoo.workspace import Zoo

# Server -> what it failed with.
Down = dict[str, TransientError]


class WithinZoo(Sources):
    """As :class:`Sources`; but what a recipe names must be remote, or lie in the zoo. ``down``: the servers
    that gave no answer, which several of these share; ``offline``: none is asked."""

    def __init__(self, remote: Remote, down: Down, *, offline: bool = False) -> None:
        super().__init__(remote)
        self._offline = offline
        self._endpoint = remote.endpoint
        self._down = down

    def reads(self, target: str) -> bool:
        """Whether ``hf://`` sources are read from the hub that a release log calls ``target``."""
        from huggingface_hub import constants

        endpoint = (self._endpoint or constants.ENDPOINT).rstrip("/")
        return endpoint == (HUB if target == "hf" else target)

    def open(self, source: str, *, zoo: Zoo | None = None) -> Checkpoint:
        """The checkpoint that ``source`` names.

        Raises:
            UnreadableError: it cannot be opened, or must not be.
        """
        if not is_remote(source):
            folder = None if zoo is None else folder_in(zoo, source)
            if zoo is not None and folder is None:
                raise UnreadableError(
                    f"{quoted(source)} is outside of the zoo, and a pull request may name only what is in it",
                    hint="name a hub or a server: source: hf://owner/name@revision",
                )
            if folder is not None and (source.startswith(("/", "~")) or _of_zoo(folder)):
                raise UnreadableError(
                    f"{quoted(source)} is no place for a checkpoint: changes there are not seen as its own",
                    hint="give it a folder of its own: source: ./drafts/NAME",
                )
            return super().open(source, zoo=zoo)
        if self._offline:
            raise UnreadableError(
                f"{quoted(source)} was not asked for: --offline", hint="run zoo ci without --offline"
            )
        scheme, _, rest = source.partition("://")
        server = scheme if scheme == "hf" else rest.partition("/")[0]
        if server in self._down:
            failed = self._down[server]
            raise UnreadableError(f"{quoted(source)} was not asked for: {failed.message}", hint=failed.hint)
        try:
            return super().open(source, zoo=zoo)
        except TransientError as error:
            self._down[server] = error
            raise


def _of_zoo(folder: str) -> bool:
    """Whether a folder is the zoo itself, or one of those whose files mean something else."""
    return folder == "." or folded(folder.partition("/")[0]) in ("recipes", "templates", "release")


def folder_in(zoo: Zoo, source: str) -> str | None:
    """The folder that a local ``source`` names, from the root of the zoo; None if it is not in there."""
    try:
        folder = local_folder(zoo, source).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, the home of nobody, a NUL
        return None
    root = zoo.root.resolve()
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else None
