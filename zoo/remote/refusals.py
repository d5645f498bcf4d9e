"""What an HTTP status means for the person who asked, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from zoo.errors import UnreadableError
from zoo.remote.limits import TransientError


class NotThereError(UnreadableError):
    """The server has no such file, or the repository no such revision (404)."""


def refusal(
    what: str, status: int, headers: Mapping[str, str], *, page: str, token: bool = False
) -> UnreadableError:
    """The error that an answer of ``status`` is. ``what`` names what was asked for; ``page`` is the address
    of a hub's repository, "" for another server; ``token``: one was sent. ``headers`` have names in lower
    case.

    A hub does not tell a repository that is hidden from one that does not exist: without a token it answers
    401 for both, with a good one 404. 401 to a token without ``RepoNotFound`` is about the token itself.

    Sources: huggingface_hub, utils/_http.py (X-Error-Code); RFC 9110, 10.2.3 (Retry-After).
    """
    code = headers.get("x-error-code", "")
    log_in = "hf auth login, or set HF_TOKEN"
    if token:
        log_in = "use a token of an account that may read it (HF_TOKEN)"
    match status:
        case 401 | 403 if page and code == "GatedRepo":
            return UnreadableError(
                f"{what}: the repository is gated ({status})",
                hint=f"ask for access on {page}; then: {log_in}",
            )
        case 401 if page and token and code != "RepoNotFound":
            hint = "log in again: hf auth login; or mend HF_TOKEN, or unset it: what is public needs none"
            return UnreadableError(f"{what}: the hub does not accept the token (401)", hint=hint)
        case 401 | 404 if page and code not in ("RevisionNotFound", "EntryNotFound"):
            shown = "to this token" if token else "without a token"
            return UnreadableError(
                f"{what}: the hub shows no such repository {shown} ({status}): it is private or gated, or "
                "there is none of this name",
                hint=f"check the spelling of {page}; if it is private or gated: {log_in}",
            )
        case 401 | 403:
            hint = f"try it as somebody else: {log_in}" if page else "download it, and give the folder"
            return UnreadableError(f"{what}: the server refuses access ({status})", hint=hint)
        case 404 if code == "RevisionNotFound":
            return NotThereError(
                f"{what}: no such revision (404)", hint=f"see the branches and tags of {page}"
            )
        case 404 | 410:
            return NotThereError(f"{what}: there is no such file ({status})", hint="check the address")
        case 429:
            after = stated_wait(headers)
            told = f", and asks to wait {math.ceil(after):,} seconds" if after else ""
            hint = f"try again in {math.ceil(after):,} seconds" if after else "try again in some minutes"
            hint += "; a token raises the limit: hf auth login" if page else ""
            return TransientError(
                f"{what}: the server limits the rate of requests (429){told}", hint=hint, after=after
            )
        case 408 | 500 | 502 | 503 | 504:
            after = stated_wait(headers)
            hint = "the server is in trouble: try again later"
            return TransientError(f"{what}: the server answered {status}", hint=hint, after=after)
        case _:
            return UnreadableError(f"{what}: the server answered {status}", hint="check the address")


def stated_wait(headers: Mapping[str, str]) -> float:
    """Seconds that the server asks to wait: Retry-After (seconds or a date) or, else, the reset of RateLimit;
    0.0 if neither says."""
    from huggingface_hub.utils import parse_ratelimit_headers  # type: ignore[attr-defined]

    stated = headers.get("retry-after", "").strip()
    if stated.isascii() and stated.isdecimal():
        return float(stated[:6])
    try:
        return max(0.0, (parsedate_to_datetime(stated) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError, OverflowError):  # no date, or one without a zone
        pass
    short = {name: value[:100] for name, value in headers.items() if name.startswith("ratelimit")}
    limit = parse_ratelimit_headers(short)
    return 0.0 if limit is None or limit.remaining else float(limit.reset_in_seconds)
