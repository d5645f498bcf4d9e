"""Opening a checkpoint that is elsewhere, without downloading it.

    with opened("hf://owner/name@v1.0.0", Remote()) as checkpoint:
        checkpoint.tensors["fc.weight"].shape, checkpoint.revision

Config, index and headers are fetched by HTTP range into a temporary folder (``shadow``), and the reader of
local folders does the rest: a remote checkpoint passes the very same checks. At the end the folder is
removed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.folder import CONFIG_NAME, is_weights, open_checkpoint
from zoo.checkpoint.index import INDEX_NAME, read_index
from zoo.checkpoint.index import SIZE_LIMIT as INDEX_LIMIT
from zoo.checkpoint.jsonfile import SIZE_LIMIT
from zoo.checkpoint.maps import BYTE_LIMIT, vocabulary_maps
from zoo.checkpoint.model import Checkpoint
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.remote.address import HubAddress, Remote, SiteAddress, address_of
from zoo.remote.hub import read_repository
from zoo.remote.limits import Deadline, Pace
from zoo.remote.refusals import NotThereError
from zoo.remote.shadow import FIRST_BYTES, fill, header_end, reserve
from zoo.remote.stream import Stream
from zoo.remote.threads import at_once
from zoo.remote.web import Web

_WEIGHTS = "model.safetensors"
# What is read whole, up to so many bytes: of a longer file its reader says that it is too long.
_WHOLE = {CONFIG_NAME: SIZE_LIMIT, INDEX_NAME: INDEX_LIMIT, "hf_quant_config.json": SIZE_LIMIT}
# Every request has its own limits. This one ends what they cannot: a name server that hangs, an answer whose
# head comes byte by byte.
_GRACE = 0.2

_T = TypeVar("_T")


@contextmanager
def opened(source: str, remote: Remote, *, typed: bool = True) -> Iterator[Checkpoint]:
    """The checkpoint that ``source`` names, as far as its small files and headers tell. ``typed``: the user
    wrote the source; a recipe may name fewer hosts. Its ``root`` and ``opener`` live as long as the context.

    Raises:
        UnreadableError: it cannot be read, with the cause and the next action; at the latest after
            ``remote.timeout`` seconds.
    """
    address = address_of(source, remote, typed=typed)
    with (
        Web(source, address.base, page=address.page) as web,
        tempfile.TemporaryDirectory(prefix="zoo-remote-", ignore_cleanup_errors=True) as folder,
    ):
        files = _Files(web, Path(folder), remote.timeout)
        if isinstance(address, HubAddress):
            checkpoint = _open_repository(files, address)
        else:
            checkpoint = _open_site(files, address)
        files.fetch_maps(checkpoint)
        yield replace(checkpoint, opener=files.open)


class _Files:
    """The files of one remote folder, and their shadows below ``root``."""

    def __init__(self, web: Web, root: Path, timeout: float) -> None:
        self.web = web
        self.root = root
        self.clock = Deadline(timeout)
        self.urls: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self._tags: dict[str, str] = {}
        self._complete: set[str] = set()

    def each(self, work: Callable[[str], _T], names: Iterable[str]) -> list[_T]:
        """``work`` for every name, several at once; the first error is raised."""
        try:
            return at_once(work, names, self.clock.left() + _GRACE)
        except TimeoutError:
            raise UnreadableError(
                f"{quoted(self.web.source)}: not done within {self.clock.seconds:g} seconds",
                hint="try again later, or give it more time: --timeout SECONDS",
            ) from None

    def fetch(self, name: str) -> None:
        """Fetch what is read of the file ``name``: all of a small file, the header of a weights file.

        Raises:
            NotThereError: the server has no such file.
            UnreadableError: it cannot be fetched.
        """
        size, limit = self.sizes.get(name), _WHOLE.get(name, FIRST_BYTES)
        if size == 0 or (size is not None and size > limit and name in _WHOLE):
            return
        with self._stream(name, end=limit) as stream:
            size = stream.connect()
            if name not in self.sizes:
                reserve(self.root, {name: size})
                self.sizes[name] = size
            self._tags[name] = stream.tag
            first = fill(self.root / name, stream)
        if size <= limit:
            self._complete.add(name)
        elif is_weights(name) and (end := header_end(first, size)) > limit:
            self._fetch_part(name, limit, end)

    def fetch_maps(self, checkpoint: Checkpoint) -> None:
        """Fetch the vocabulary maps, the only tensors that are read at header level, unless they are too
        large for that."""
        maps = [tensor for tensor in vocabulary_maps(checkpoint).values() if tensor is not None]
        if sum(tensor.nbytes for tensor in maps) > BYTE_LIMIT:
            return
        places = {tensor.name: checkpoint.data_start[tensor.name] for tensor in maps}
        ends = {tensor.name: places[tensor.name] + tensor.nbytes for tensor in maps}

        def fetch(tensor: str) -> None:
            self._fetch_part(checkpoint.file_of[tensor], places[tensor], ends[tensor])

        self.each(fetch, places)

    def open(self, name: str) -> BinaryIO:
        """All bytes of the file ``name``; those that rules were told of are the same ones."""
        if name in self._complete:
            return open_regular(self.root / name)
        stream = Stream(
            self.web,
            self.urls[name],
            name,
            Pace(self.clock.seconds),
            size=self.sizes[name],
            tag=self._tags.get(name, ""),
        )
        return cast(BinaryIO, stream)

    def _fetch_part(self, name: str, begin: int, end: int) -> None:
        if begin < end and name not in self._complete:
            with self._stream(name, begin=begin, end=end) as stream:
                fill(self.root / name, stream)

    def _stream(self, name: str, *, begin: int = 0, end: int) -> Stream:
        size, tag = self.sizes.get(name), self._tags.get(name, "")
        return Stream(self.web, self.urls[name], name, self.clock, size=size, begin=begin, end=end, tag=tag)


def _open_repository(files: _Files, address: HubAddress) -> Checkpoint:
    """A repository: the hub lists its files, with sizes and digests."""
    found = files.each(lambda _: read_repository(files.web, address, files.clock), [""])[0]
    reserve(files.root, found.sizes)
    files.sizes.update(found.sizes)
    files.urls.update({name: found.url(name) for name in found.sizes})
    files.each(files.fetch, [name for name in found.sizes if name in _WHOLE or is_weights(name)])
    checkpoint = open_checkpoint(files.root, files.web.source)
    return replace(checkpoint, revision=found.commit, reported_sha256=found.sha256)


def _open_site(files: _Files, address: SiteAddress) -> Checkpoint:
    """A folder of a plain web server, which cannot be listed: the files that a checkpoint must have, or that
    its index names."""

    def fetch(name: str) -> bool:
        files.urls[name] = address.url + name
        try:
            files.fetch(name)
        except NotThereError:
            return False
        return True

    there = dict(zip(_WHOLE, files.each(fetch, _WHOLE), strict=True))
    index = read_index(files.root / INDEX_NAME)[0] if there[INDEX_NAME] else None
    shards = {_WEIGHTS} if index is None else {name for name in index.shards if is_weights(name)}
    weights = files.each(fetch, sorted(shards))
    if not there[CONFIG_NAME] and not any(weights):
        raise UnreadableError(
            f"{quoted(files.web.source)} has no {CONFIG_NAME} and no {_WEIGHTS}",
            hint="give the address of the folder that holds them",
        )
    return replace(open_checkpoint(files.root, files.web.source), listed=False)
