"""What a remote source names, and whether it may be contacted at all. Nothing here opens a connection.

address_of("hf://owner/name@v1.0.0", remote)       # HubAddress
address_of("https://example.com/drafts/a/", remote)  # SiteAddress
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from zoo.errors import UnreadableError
from zoo.printable import printable, quoted

if TYPE_CHECKING:
    from zoo.remote.client import httpx

HUB = "https://huggingface.co"
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
# What git allows in a ref, and no more than a URL needs quoted.
_REVISION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,254}")


@dataclass(frozen=True)
class Remote:
    """How remote sources are reached.

    ``endpoint`` is the hub, "" for ``HF_ENDPOINT`` or huggingface.co. ``timeout`` in seconds: an opening ends
    within it, and a stream that moves too little for so long is given up. ``allowed`` are the endpoints that
    a recipe may name beside huggingface.co (setting ``endpoints``).
    """

    endpoint: str = ""
    timeout: float = 60.0
    allowed: tuple[str, ...] = ()


class HubAddress(NamedTuple):
    """A repository of models; ``revision`` is a branch, tag or commit, ``endpoint`` the hub without a slash
    at its end."""

    endpoint: str
    repo: str
    revision: str

    @property
    def base(self) -> str:
        """The server."""
        return self.endpoint

    @property
    def page(self) -> str:
        """Where a person can look at the repository."""
        return f"{self.endpoint}/{self.repo}"


class SiteAddress(NamedTuple):
    """A folder of a web server; ``url`` ends with a slash."""

    url: str
    page: str = ""

    @property
    def base(self) -> str:
        """The server."""
        return self.url


def is_remote(source: str) -> bool:
    """Whether ``source`` is anything but a local folder."""
    return "://" in source


def address_of(source: str, remote: Remote, *, typed: bool) -> HubAddress | SiteAddress:
    """The address that ``source`` names. ``typed``: the user wrote it, not a recipe.

    Raises:
        UnreadableError: it is no address, or one that must not be contacted.
    """
    if source.startswith("hf://"):
        return _hub_address(source, remote, typed=typed)
    url = parse_url(source, "the source")
    if not typed and not _allowed(url, remote.allowed):
        raise UnreadableError(
            f"{quoted(source)} is named by a recipe, and its host is not allowed by the settings",
            hint='allow it: endpoints = ["https://HOST"]; or type it: zoo verify NAME --checkpoint URL',
        )
    text = str(url)
    return SiteAddress(text if text.endswith("/") else text + "/")


def parse_url(text: str, what: str) -> httpx.URL:
    """``text`` as the HTTP client will understand it. ``what`` names it in messages, which never show a
    password.

    Raises:
        UnreadableError: no URL, not https (or http of this very machine), or with a password or a query.
    """
    from zoo.remote.client import httpx

    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL()
    if "%" in url.host or not (url.scheme and url.host):
        raise UnreadableError(f"{what} is no URL", hint="write it like https://host/folder/")
    if url.userinfo:
        hint = "leave them out; for a hub use a token (HF_TOKEN), for others download the folder"
        raise UnreadableError(f"{what} is a URL with a user name or a password in it", hint=hint)
    if url.query or url.fragment:
        hint = "give the address of the folder alone"
        raise UnreadableError(f"{what} is a URL with a query or a fragment", hint=hint)
    if not is_secure(url):
        hint = "use https:// (or hf://owner/name@revision for the Hub)"
        raise UnreadableError(f"{quoted(text)} is not https", hint=hint)
    return url


def is_secure(url: httpx.URL) -> bool:
    """https or, on this machine, http: for a server that one tries things with."""
    return url.scheme == "https" or (url.scheme == "http" and is_loopback(url.host))


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def origin(url: httpx.URL) -> tuple[str, str, int | None]:
    """What must be equal for two URLs to belong to one server: scheme, host, port."""
    return url.scheme, url.host, url.port or {"https": 443, "http": 80}.get(url.scheme)


def _hub_address(source: str, remote: Remote, *, typed: bool) -> HubAddress:
    from huggingface_hub import constants

    repo, at, revision = source.removeprefix("hf://").partition("@")
    if not _REPO.fullmatch(repo) or (at and not _REVISION.fullmatch(revision)) or ".." in source:
        raise UnreadableError(
            f"{quoted(source)} is not the address of a model repository",
            hint="write it like hf://owner/name or hf://owner/name@revision",
        )
    what = "the endpoint" if remote.endpoint else "HF_ENDPOINT"
    endpoint = str(parse_url(remote.endpoint or constants.ENDPOINT, what)).rstrip("/")
    if constants.is_offline_mode():
        folder = "name a local folder instead" if typed else "add --checkpoint FOLDER"
        raise UnreadableError(
            f"{quoted(source)} is on the Hub, and HF_HUB_OFFLINE is set", hint=f"unset it, or {folder}"
        )
    return HubAddress(endpoint, repo, revision or "main")


def _allowed(url: httpx.URL, endpoints: tuple[str, ...]) -> bool:
    known = (
        parse_url(each, f"the setting endpoints ({printable(each, keep='', limit=80)})") for each in endpoints
    )
    return origin(url) in {origin(parse_url(HUB, "")), *map(origin, known)}
