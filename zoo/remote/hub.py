"""A repository on a hub: what files it has at one commit, and where they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from zoo.checkpoint.listing import ENTRY_LIMIT
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.remote.address import HubAddress
from zoo.remote.limits import Deadline
from zoo.remote.web import Web

# A file takes about 400 bytes of the listing.
_LISTING_LIMIT = 32 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository at ``commit``, 40 hex digits, so that all requests mean the same files. ``sizes`` in
    bytes; ``sha256`` of the files that the hub states it of (those in LFS)."""

    address: HubAddress
    commit: str
    sizes: Mapping[str, int]
    sha256: Mapping[str, str]

    def url(self, name: str) -> str:
        from huggingface_hub import hf_hub_url

        return hf_hub_url(self.address.repo, name, revision=self.commit, endpoint=self.address.endpoint)


def read_repository(web: Web, address: HubAddress, clock: Deadline) -> Repository:
    """The repository that ``address`` names, as the hub lists it.

    It is the request of ``HfApi.repo_info(files_metadata=True)``, made by our own client: that method follows
    redirects to any host and has no limit of time or size.

    Raises:
        UnreadableError: the hub does not answer, or not with a listing.
    """
    revision = quote(address.revision, safe="")
    url = f"{address.endpoint}/api/models/{address.repo}/revision/{revision}?blobs=true"
    raw = web.document(url, f"revision {address.revision}", _LISTING_LIMIT, clock)
    try:
        return _parse(address, json.loads(raw))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UnreadableError(
            f"{quoted(web.source)}: the hub's answer is no listing of files with their sizes",
            hint="check the endpoint; or download the checkpoint, and give its folder",
        ) from error


def _parse(address: HubAddress, answer: Any) -> Repository:
    """Raises KeyError, TypeError or ValueError when it is not what a hub answers."""
    commit = answer["sha"]
    if not _COMMIT.fullmatch(commit) or (_COMMIT.fullmatch(address.revision) and commit != address.revision):
        raise ValueError("not the commit that was asked for")
    sizes: dict[str, int] = {}
    sha256: dict[str, str] = {}
    # One more than the limit, so that the reader of the folder says that there are too many.
    for entry in answer["siblings"][: ENTRY_LIMIT + 1]:
        name, size = entry["rfilename"], entry["size"]
        if not isinstance(name, str) or type(size) is not int or size < 0 or name in sizes:
            raise ValueError("not a file")
        sizes[name] = size
        lfs = entry.get("lfs")
        if lfs is not None and not isinstance(lfs, dict):
            raise ValueError("not what LFS says of a file")
        stated = None if lfs is None else lfs.get("sha256")
        if stated is not None:
            if not _SHA256.fullmatch(stated):
                raise ValueError("not a sha256")
            sha256[name] = stated
    return Repository(address, commit, sizes, sha256)
