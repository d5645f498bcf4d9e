"""One error: a request that is refused, with what the client needs to know of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class HubError(Exception):
    """A request is answered with ``status`` and a message. ``code`` is the ``X-Error-Code`` that the client
    turns into an exception of its own (``RepoNotFound``, ``RevisionNotFound``, ``EntryNotFound``,
    ``GatedRepo``); ``more`` joins the JSON body."""

    def __init__(
        self, status: int, message: str, *, code: str = "", more: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.more = more or {}


def bad_request(message: str) -> HubError:
    return HubError(400, message)


def forbidden(message: str) -> HubError:
    return HubError(403, message)


def exists(message: str, **more: Any) -> HubError:
    return HubError(409, message, more=more)


def no_revision(revision: str) -> HubError:
    return HubError(404, f"Invalid rev id: {revision}", code="RevisionNotFound")


def no_entry(message: str) -> HubError:
    return HubError(404, message, code="EntryNotFound")


def no_repository(signed_in: bool) -> HubError:
    """As the Hub: a stranger learns no more of a private repository than of one that does not exist."""
    if signed_in:
        return HubError(404, "Repository not found", code="RepoNotFound")
    return HubError(401, "Invalid username or password.", code="RepoNotFound")
