"""What an HTTP status means for the person who asked, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from zoo.errors import UnreadableError
from zoo.remote.limits import TransientError


class NotThereError(UnreadableError):
    """The server has no such file (404)."""


def refusal(what: str, status: int, headers: Mapping[str, str], *, page: str) -> UnreadableError:
    """The error that an answer of ``status`` is. ``what`` names what was asked for; ``page`` is the address
    of a hub's repository, "" for another server. ``headers`` have names in lower case.

    Sources: huggingface_hub, utils/_http.py (X-Error-Code); RFC 9110, 10.2.3 (Retry-After).
    """
    code = headers.get("x-error-code", "")
    match status:
        case 401 if page:
            hint = "check the name; if it is private: hf auth login, or set HF_TOKEN"
            return UnreadableError(f"{what}: there is no such repository, or it is private (401)", hint=hint)
        case 403 if code == "GatedRepo":
            hint = f"ask for access on {page}, then: hf auth login, or set HF_TOKEN"
            return UnreadableError(f"{what}: the repository is gated (403)", hint=hint)
        case 401 | 403:
            hint = "check what the token may read (HF_TOKEN)" if page else "download it, and give the folder"
            return UnreadableError(f"{what}: the server refuses access ({status})", hint=hint)
        case 404 if code == "RevisionNotFound":
            return NotThereError(
                f"{what}: no such revision (404)", hint=f"see the branches and tags of {page}"
            )
        case 404 if page and code != "EntryNotFound":
            hint = "check the name; if it is private: hf auth login, or set HF_TOKEN"
            return NotThereError(f"{what}: there is no such repository (404)", hint=hint)
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
