"""The fenced blocks of a Markdown document that hold shell text (CommonMark, "Fenced code blocks")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_LANGUAGES = frozenset("bash sh shell zsh console shell-session shellsession terminal text txt cmd".split())
_PROMPT = re.compile(r"^\s*[$%] ")


@dataclass(frozen=True, slots=True)
class Block:
    """What a fence holds; ``line`` is the number of its first line in the document."""

    text: str
    line: int


def looks_like_markdown(text: str) -> bool:
    """Whether a text without a name is a document: it has a fence."""
    return any(_FENCE.match(row) for row in text.splitlines())


def fenced_blocks(text: str) -> Iterator[Block]:
    """The blocks that name a shell or nothing. A fence that is never closed ends with the document."""
    rows = text.splitlines()
    at = 0
    while at < len(rows):
        fence = _FENCE.match(rows[at])
        at += 1
        if fence is None:
            continue
        start, marks = at, fence["marks"]
        close = re.compile(rf"^[ \t>]*{re.escape(marks[0])}{{{len(marks)},}}[ \t]*$")
        while at < len(rows) and not close.match(rows[at]):
            at += 1
        language = re.split(r"[\s,{:]", fence["info"].strip(), maxsplit=1)[0].lower()
        if not language or language in _LANGUAGES:
            indent = fence["indent"]
            body = [row.removeprefix(indent) for row in rows[start:at]]
            yield Block("\n".join(_typed(body)), start + 1)
        at += 1


def _typed(rows: list[str]) -> list[str]:
    """What a person typed. Where lines begin with a prompt, the others are output, and become empty."""
    if not any(_PROMPT.match(row) for row in rows):
        return rows
    typed: list[str] = []
    continued = False
    for row in rows:
        if _PROMPT.match(row):
            row = row.lstrip()[2:]
        elif continued:
            row = row.removeprefix("> ")
        else:
            row = ""
        continued = row.endswith("\\")
        typed.append(row)
    return typed
