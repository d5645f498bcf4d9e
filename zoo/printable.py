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
from collections.abc import Mapping
from typing import Any

from zoo.credentials import without_shapes

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
# Letters and marks that are drawn as nothing: the rest of Default_Ignorable_Code_Point (Unicode 16,
# DerivedCoreProperties.txt). Variation selectors are among them; U+FE0E and U+FE0F make an emoji of a symbol.
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef"
_SYMBOL = "\u203c-\u2bff\u3030-\u303d\u3297-\u3299\U0001f000-\U0001faff"
_UNSEEN = re.compile(f"[{_INVISIBLE}]|(?<![{_SYMBOL}])[\ufe0e\ufe0f]")
_LONGEST = 8192  # characters of a credential (a private key of 4,096 bits has 3,300)
_COMMAND = re.compile(r"^(?P<space>\s*):(?=:)|#(?=#\[)", re.MULTILINE)


def printable(text: str, *, keep: str = "\n", limit: int | None = None) -> str:
    """``text`` as it is safe to show: :func:`visible`, and without credentials."""
    # Before it is cut: a credential must be seen whole to be known as one.
    shown = without_shapes(text if limit is None else text[: limit + _LONGEST])
    return visible(shown, keep=keep, limit=limit)


def visible(text: str, *, keep: str = "\n", limit: int | None = None) -> str:
    """``text`` with every character that does not print replaced by its escape, e.g. ``\\x1b``, ``\\u202e``,
    and with the first character of what a CI runner would take for a command.

    ``keep`` lists control characters that are left alone; ``limit`` cuts the result at so many characters.
    For what is published: there a credential is not hidden, but refused.
    """
    if limit is not None:
        text = text[: limit + 1]  # no character becomes shorter
    if not text.isascii() or not text.isprintable():
        text = _UNSEEN.sub(lambda match: _escape(match[0]), "".join(_shown(char, keep) for char in text))
    if "::" in text or "##[" in text:
        text = _COMMAND.sub(_disarmed, text)
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def quoted(text: str, limit: int = 120) -> str:
    """``text`` in double quotes, on one line, safe to show."""
    return f'"{printable(text, keep="", limit=limit)}"'


def json_text(document: Any) -> str:
    """``document`` as JSON in ASCII. Its texts stay what they are but for credentials, and none starts a
    command of a CI runner: ``##[``, which stands in a JSON text only inside of strings, is escaped."""
    return json.dumps(_without_shapes(document), indent=2, ensure_ascii=True).replace("##[", r"#\u0023[")


def _without_shapes(document: Any) -> Any:
    match document:
        case str():
            return without_shapes(document)
        case Mapping():
            return {_without_shapes(key): _without_shapes(each) for key, each in document.items()}
        case list() | tuple():
            return [_without_shapes(each) for each in document]
    return document


def _shown(char: str, keep: str) -> str:
    if char in keep or unicodedata.category(char) not in _HIDDEN:
        return char
    return _escape(char)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def _disarmed(match: re.Match[str]) -> str:
    space = match["space"]
    return r"\x23" if space is None else rf"{space}\x3a"
