"""Text from outside, made inert in Markdown.

Titles, claims and caveats come from a pull request. On a card they must be words and nothing else: no HTML,
no link whose text hides its address, no table cell, heading or list that the template did not mean, no
character that turns text around.

A ``str`` is text from outside and is escaped where it is printed. :class:`Markdown` is markup that this
package wrote itself.
"""

from __future__ import annotations

import re

from zoo.printable import visible

# What has a meaning anywhere in a line (CommonMark 0.31, GFM tables and strikethrough, and the $$ of the
# Hub's formulas). A "<" before anything but a letter or one of "/!?" opens no tag, and a "~" after a space
# closes no strikethrough.
_INLINE = re.compile(
    r"[\\`*\[\]|$]|<(?=[A-Za-z/!?]|$)|(?<=\S)~|(?<![^\W_])_|_(?![^\W_])|(?<!\S)#|&(?=#?\w+;)"
)
# What has a meaning only where a line begins: lists, quotes, headings, rules and front matter.
_LEADING = re.compile(r">|(?:[-+=](?=[-=\s]|$))|(?P<number>\d{1,9})(?=[.)](?:\s|$))")
_CODE = re.compile(r"`([^`\n]+)`")
_PARAGRAPHS = re.compile(r"\s*\n\s*\n\s*")


class Markdown(str):
    """Markup of our own, printed as it is."""

    __slots__ = ()


def inline(text: str) -> Markdown:
    """``text`` as one line of plain words, inert in a paragraph, heading, list item, table cell or link
    text."""
    if isinstance(text, Markdown):
        return text
    line = visible(" ".join(text.split()), keep="")
    escaped = _INLINE.sub(lambda match: "&amp;" if match[0] == "&" else f"\\{match[0]}", line)
    return Markdown(_LEADING.sub(_leading, escaped, count=1) if _LEADING.match(escaped) else escaped)


def code(text: str) -> Markdown:
    """``text`` as a code span. A pipe would end a table cell even inside one, so text with a pipe stays
    plain."""
    line = visible(" ".join(text.split()), keep="")
    if "|" in line or not line:
        return inline(line)
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return Markdown(f"{fence}{pad}{line}{pad}{fence}")


def prose(text: str) -> Markdown:
    """Paragraphs of plain words, in which `code` between backticks is the only markup."""
    if isinstance(text, Markdown):
        return text
    return Markdown("\n\n".join(_words(part) for part in _PARAGRAPHS.split(text.strip())))


def line(text: str) -> Markdown:
    """Prose on one line: for list items and table cells."""
    return text if isinstance(text, Markdown) else Markdown(_words(text))


def fenced(text: str, language: str) -> Markdown:
    """``text`` as a block of code, with a fence that the text cannot close."""
    shown = visible(text)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return Markdown(f"{fence}{language}\n{shown}\n{fence}")


def _words(text: str) -> str:
    """Every second part of the split is the inside of a code span."""
    parts = _CODE.split(text)
    joined = "".join(code(part) if index % 2 else _kept_spaces(part) for index, part in enumerate(parts))
    return joined.strip()


def _kept_spaces(part: str) -> str:
    """``inline`` strips the ends; a part beside a code span keeps the space between the two."""
    before = " " if part[:1].isspace() else ""
    after = " " if part[-1:].isspace() and part.strip() else ""
    return f"{before}{inline(part)}{after}"


def _leading(match: re.Match[str]) -> str:
    return f"{match['number']}\\" if match["number"] else f"\\{match[0]}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)
