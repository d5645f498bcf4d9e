"""Where a revision of a repository of a hub left its main branch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from urllib.parse import quote

from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.remote.address import HubAddress, Remote, address_of
from zoo.remote.limits import Deadline
from zoo.remote.refusals import NotThereError
from zoo.remote.web import Web

# A page has 50 commits, or as many as the hub likes; a commit with a long message takes some kB.
PAGES = 20
_PAGE_LIMIT = 4 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Fork:
    """The newest commit of main (40 hex digits) that a revision contains, and how many commits main has had
    since."""

    commit: str
    behind: int


def fork_of(repo: str, revision: str, remote: Remote) -> Fork | None:
    """Where ``revision`` of OWNER/NAME left main; None if the last commits of both (``PAGES`` pages) do not
    show it, or the hub lists no commits.

    Both histories are read newest first, page by page in turn, so that a young pull request takes two
    requests. It is what ``HfApi.list_repo_commits`` asks, with our limits of time and size.

    Raises:
        UnreadableError: the hub does not answer, or not with a list of commits.
    """
    address = address_of(f"hf://{repo}@{revision}", remote, typed=True)
    assert isinstance(address, HubAddress)  # it begins with hf://
    ours: list[str] = []
    theirs: set[str] = set()
    with Web(f"hf://{repo}", address.base, page=address.page) as web:
        clock = Deadline(remote.timeout)
        pages = (
            _pages(web, address._replace(revision="main"), clock),
            _pages(web, address, clock),
        )
        try:
            for main, change in islice(zip_longest(*pages, fillvalue=()), PAGES):
                ours += main
                theirs.update(change)
                for behind, commit in enumerate(ours):
                    if commit in theirs:
                        return Fork(commit, behind)
        except NotThereError:  # no main yet, or a hub that does not list commits
            return None
    return None


def _pages(web: Web, address: HubAddress, clock: Deadline) -> Iterator[list[str]]:
    """The commits of a revision, newest first, until a page has none."""
    revision = quote(address.revision, safe="")
    for number in range(PAGES):
        url = f"{address.endpoint}/api/models/{address.repo}/commits/{revision}?p={number}"
        raw = web.document(url, f"the commits of {address.revision}", _PAGE_LIMIT, clock)
        try:
            page = [_commit(entry["id"]) for entry in json.loads(raw)]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise UnreadableError(
                f"{quoted(web.source)}: the hub's answer is no list of commits", hint="check the endpoint"
            ) from error
        if not page:
            return
        yield page


def _commit(text: str) -> str:
    """Raises TypeError or ValueError when it is no commit."""
    if not _COMMIT.fullmatch(text):
        raise ValueError("not a commit")
    return text
