"""Text from outside, made safe to show: no control, bidirectional or invisible characters reach a terminal.

Recipes, configs and headers of a pull request are untrusted. An escape sequence in a tensor name can
rewrite what a reviewer sees, and U+202E can turn a file name around (CVE-2021-42574, "Trojan Source").
"""

from __future__ import annotations

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str, *, keep: str = "\n", limit: int | None = None) -> str:
    """``text`` with every character that does not print replaced by its escape, e.g. ``\\x1b``, ``\\u202e``.

    ``keep`` lists control characters that are left alone; ``limit`` cuts the result at so many characters.
    """
    if not text.isascii() or not text.isprintable():
        text = "".join(_shown(char, keep) for char in text)
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def quoted(text: str, limit: int = 120) -> str:
    """``text`` in double quotes, on one line, safe to show."""
    return f'"{printable(text, keep="", limit=limit)}"'


def _shown(char: str, keep: str) -> str:
    if char in keep or unicodedata.category(char) not in _HIDDEN:
        return char
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
