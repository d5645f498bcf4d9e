"""Credentials that must not be published: a token that slipped into a small text file of the release.

Only kinds that have a fixed shape are searched for; the search finds accidents, not intent. What was found
is never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import ReleaseRefusedError

_HIDDEN = "(a secret)"
_BEARER = re.compile(rb"(?i)(?<=\bbearer )\S+")
# Texts of a checkpoint (config, card, index) and the headers of weights are far smaller.
_SIZE_LIMIT = 4 * 1024 * 1024
# As the issuers document them: huggingface.co/docs/hub/security-tokens, AWS IAM identifiers, GitHub token
# formats, RFC 7468.
_SHAPES: Mapping[str, re.Pattern[bytes]] = {
    "a Hugging Face token": re.compile(rb"\bhf_[A-Za-z0-9]{30,}"),
    "an AWS access key": re.compile(rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a GitHub token": re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})"),
    "a private key": re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
}


def find(text: bytes, known: Iterable[str] = ()) -> str | None:
    """What kind of credential ``text`` holds, or None. ``known`` are those in use, whatever their shape."""
    if any(secret.encode() in text for secret in known):
        return "the very token that is in use"
    return next((kind for kind, shape in _SHAPES.items() if shape.search(text)), None)


def find_in_file(path: Path, known: Iterable[str] = ()) -> str | None:
    """:func:`find` in a file; of one that is too large to be a text, in its beginning: there is the header of
    a weight file, whose metadata anybody can fill.

    Raises OSError if it cannot be read.
    """
    with open_regular(path) as file:
        return find(read_up_to(file, _SIZE_LIMIT), known)


def hidden(text: str, known: Iterable[str] = ()) -> str:
    """``text`` without credentials: those in use (``known``), those of a known shape, and what follows
    "Bearer"."""
    for secret in sorted((each for each in known if each), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    raw = _BEARER.sub(_HIDDEN.encode(), text.encode(errors="surrogateescape"))
    for shape in _SHAPES.values():
        raw = shape.sub(_HIDDEN.encode(), raw)
    return raw.decode(errors="surrogateescape")


def refusal(place: str, kind: str) -> ReleaseRefusedError:
    """The error for a credential in ``place``."""
    return ReleaseRefusedError(
        f"{place} holds {kind}",
        hint="remove it from the file, and revoke it: it may have been copied already",
    )
