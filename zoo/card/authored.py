"""What a template writes itself, held against what may stand on a card.

Values are escaped where they are printed. The text between them is Markdown of the template's author: it must
neither hide what it prints (HTML, comments, formulas, addresses, a table's surplus cells) nor undo the escape
of a value beside it (a backslash, an open code span). It may leave a value out: then the card says less, and
the change of the card shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from markupsafe import Markup

from zoo.printable import quoted

# Stand for a value in the text around it (plain words, words with a code span, lines with a block of code),
# and for the place where two backticks meet, which would make one span of two. No text of a template has
# these characters, for they do not print.
_WORDS, _SPANS, _BLOCK, _MEETING = "\ue000", "\ue001", "\ue002", "\ue003"
_VALUE = f"[{_WORDS}{_SPANS}{_BLOCK}]"
_HOLDS_BLOCK = re.compile(r"^`{3,}[^`\n]*$", re.MULTILINE)
# A block of code begins at the first column: further in, what surrounds it could end before it does.
_OPENED = re.compile(r"(?P<run>`{3,})[ \t]*(?P<language>[^`]*)$")
_CLOSED = re.compile(r" {0,3}(?P<run>`{3,})[ \t]*$")
# Not what services draw (mermaid, math, geojson, stl), which need not show all that is in it.
_LANGUAGES = ("", "bash", "console", "json", "python", "sh", "text", "toml", "yaml")
_SPAN = re.compile(rf"(?<!`)(`+)(?!`)[^`{_SPANS}{_BLOCK}{_MEETING}]+(?<!`)\1(?!`)")
_DELIMITERS = re.compile(r"[ \t|:-]*-[ \t|:-]*")
_CELL = re.compile(r"(?<!\\)\|")
_SHOWN = 80
# In words, outside of code: the first that is found is said.
_REFUSED = (
    (re.compile(rf"<(?=[A-Za-z/!?]|{_VALUE}|$)"), "HTML, an HTML comment or an address in angle brackets"),
    (re.compile(rf"\\(?={_VALUE})"), "a backslash before a value"),
    (re.compile(rf"!(?=\[|{_VALUE})"), "an image: a card shows the plots of its evidence"),
    (re.compile(rf"\](?=:|{_VALUE})"), "the definition of a link"),
    (
        re.compile(r"\]\((?!(?:https://|\.{1,2}/|#|[\w-]+[./)#])[^\s()<>\"']*\))"),
        "a link with a title, or one that is neither https:// nor a path",
    ),
    (re.compile(r"&(?=#?\w+;)"), "an entity of HTML: write the character itself"),
    (re.compile(r"\$"), "a formula"),
    (re.compile(r"~~~"), "a block of code between tildes: use backticks"),
    (re.compile(_MEETING), "a backtick beside the code span of a value"),
    (re.compile(r"`"), "a code span that is not closed in its line, or that holds one"),
)
_ESCAPED_BACKTICK = "\\`"


def problem(parts: Iterable[str]) -> str | None:
    """What is wrong with the text of a card, or None. ``parts``: its pieces in order, each a value (Markup)
    or text of the template."""
    for line, what in _problems(_skeleton(parts).split("\n")):
        shown = re.sub(_VALUE, "…", line.strip())
        return f"it writes {what}: {quoted(shown, _SHOWN)}"
    return None


def _skeleton(parts: Iterable[str]) -> str:
    """The text with every value replaced by a mark."""
    made: list[str] = []
    before = ""
    for part in filter(None, parts):
        value = isinstance(part, Markup)
        if (value or isinstance(before, Markup)) and before.endswith("`") and part.startswith("`"):
            made.append(_MEETING)
        made.append(_mark(part) if value else part)
        before = part
    return "".join(made)


def _mark(value: str) -> str:
    if _HOLDS_BLOCK.search(value):
        return _BLOCK
    return _SPANS if "`" in value else _WORDS


def _problems(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The lines with what is wrong in them."""
    fence, opened = "", ""
    columns = 0  # of the table that the line before belongs to
    for line in lines:
        if fence:
            closed = _CLOSED.match(line)
            if closed and len(closed["run"]) >= len(fence):
                fence = ""
            elif _SPANS in line or _BLOCK in line:
                yield line, "a value with code of its own inside a block of code"
        elif begun := _OPENED.match(line):
            fence, opened = begun["run"], line
            if begun["language"].strip() not in _LANGUAGES:
                yield line, f"a block of code in another language than {', '.join(_LANGUAGES[1:])}"
        elif _BLOCK in line and line.rstrip() != _BLOCK:
            yield line, "something else in the line of a value that is a block of code"
        else:
            if _ESCAPED_BACKTICK in line:
                yield line, "a backslash before a backtick"
            bare = _SPAN.sub("", line)
            yield from ((line, what) for refused, what in _REFUSED if refused.search(bare))
            if "|" in line and _DELIMITERS.fullmatch(line):
                columns = _cells(line)
            elif not line.strip():
                columns = 0
            elif columns and _cells(line) > columns:
                yield line, "a row with more cells than its table has columns, which nobody sees"
    if fence:
        yield opened, "a block of code that is not closed"


def _cells(line: str) -> int:
    return len(_CELL.split(line.strip().removeprefix("|").removesuffix("|")))
