"""Credentials that have a fixed shape: found in a text, and hidden in everything that is shown.

The search finds accidents, not intent. What was found is never shown: ``zoo.printable`` hides it before a
text is cut, since half of a token is known to nobody as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_HIDDEN = b"(a secret)"
_BEARER = re.compile(rb"(?i)(?<=\bbearer )\S+")
# As the issuers document them: huggingface.co/docs/hub/security-tokens, AWS IAM identifiers, GitHub token
# formats, RFC 7468. A private key goes to its end line or, where that is missing, to the end of the text.
_SHAPES: Mapping[str, re.Pattern[bytes]] = {
    "a Hugging Face token": re.compile(rb"\bhf_[A-Za-z0-9]{30,}"),
    "an AWS access key": re.compile(rb"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a GitHub token": re.compile(rb"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})"),
    "a private key": re.compile(
        rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY-----|\Z)",
        re.DOTALL,
    ),
}
# One of these stands in every text of a shape; most texts have none, and are not searched.
_MARKS = re.compile("hf_|AKIA|ASIA|gh[pousr]_|github_pat_|PRIVATE KEY-----")


class Found(NamedTuple):
    """What kind of credential a text holds, and the line (from 1) on which it begins."""

    kind: str
    line: int


def first(text: bytes) -> Found | None:
    """The first credential of a known shape."""
    found = ((shape.search(text), kind) for kind, shape in _SHAPES.items())
    starts = [(match.start(), kind) for match, kind in found if match is not None]
    if not starts:
        return None
    start, kind = min(starts)
    return Found(kind, text.count(b"\n", 0, start) + 1)


def find(text: bytes, known: Iterable[str] = ()) -> str | None:
    """What kind of credential ``text`` holds, or None. ``known`` are those in use, whatever their shape."""
    if any(secret.encode() in text for secret in known):
        return "the very token that is in use"
    found = first(text)
    return None if found is None else found.kind


def without_shapes(text: str) -> str:
    """``text`` without credentials of a known shape."""
    if not _MARKS.search(text):
        return text
    raw = text.encode(errors="surrogatepass")
    for shape in _SHAPES.values():
        raw = shape.sub(_HIDDEN, raw)
    return raw.decode(errors="surrogatepass")


def hidden(text: str, known: Iterable[str] = ()) -> str:
    """``text`` without credentials: those in use (``known``), those of a known shape, and what follows
    "Bearer"."""
    for secret in sorted((each for each in known if each), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN.decode())
    raw = _BEARER.sub(_HIDDEN, text.encode(errors="surrogatepass"))
    return without_shapes(raw.decode(errors="surrogatepass"))
