"""Text from outside, made safe to show: no control, bidirectional or invisible characters reach a terminal.

Recipes, configs and headers of a pull request are untrusted. An escape sequence in a tensor name can
rewrite what a reviewer sees, and U+202E can turn a file name around (CVE-2021-42574, "Trojan Source").

Nor does it start a command of a CI runner: GitHub Actions reads ``::NAME::`` where a line of a job's log
begins and ``##[NAME]`` anywhere in it (ActionCommand.cs of actions/runner).
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_COMMAND = re.compile(r"^(?P<space>\s*):(?=:)|#(?=#\[)", re.MULTILINE)


def printable(text: str, *, keep: str = "\n", limit: int | None = None) -> str:
    """``text`` with every character that does not print replaced by its escape, e.g. ``\\x1b``, ``\\u202e``,
    and with the first character of what a CI runner would take for a command.

    ``keep`` lists control characters that are left alone; ``limit`` cuts the result at so many characters.
    """
    if limit is not None:
        text = text[: limit + 1]  # no character becomes shorter
    if not text.isascii() or not text.isprintable():
        text = "".join(_shown(char, keep) for char in text)
    if "::" in text or "##[" in text:
        text = _COMMAND.sub(_disarmed, text)
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def quoted(text: str, limit: int = 120) -> str:
    """``text`` in double quotes, on one line, safe to show."""
    return f'"{printable(text, keep="", limit=limit)}"'


def json_text(document: Any) -> str:
    """``document`` as JSON in ASCII. Its texts stay what they are, but none starts a command of a CI runner:
    ``##[``, which stands in a JSON text only inside of strings, is escaped."""
    return json.dumps(document, indent=2, ensure_ascii=True).replace("##[", r"#\u0023[")


def _shown(char: str, keep: str) -> str:
    if char in keep or unicodedata.category(char) not in _HIDDEN:
        return char
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def _disarmed(match: re.Match[str]) -> str:
    space = match["space"]
    return r"\x23" if space is None else rf"{space}\x3a"
