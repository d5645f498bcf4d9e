"""The newest commit of a repository of a hub."""

from __future__ import annotations

from zoo.errors import UnreadableError
from zoo.remote.address import HubAddress, Remote, address_of
from zoo.remote.hub import read_repository
from zoo.remote.limits import Deadline
from zoo.remote.web import Web


def newest_commit(repo: str, remote: Remote) -> str:
    """The commit, 40 hex digits, that main of the repository OWNER/NAME is.

    Raises:
        UnreadableError: ``repo`` is no repository of a hub, or the hub does not say.
    """
    address = address_of(f"hf://{repo}", remote, typed=False)
    if not isinstance(address, HubAddress):
        raise UnreadableError(f"{repo} is not on a hub", hint="look for its newest revision by hand")
    with Web(f"hf://{repo}", address.base, page=address.page) as web:
        return read_repository(web, address, Deadline(remote.timeout)).commit
