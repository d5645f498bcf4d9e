"""Text from outside in Markdown that GitHub shows (comments, job summaries): words and code, and nothing that
notifies people, refers to an issue or leads elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate

from zoo.card.markdown import Markdown, code, inline
from zoo.credentials import without_shapes
from zoo.printable import printable

ROWS, CELL, WORDS = 20, 200, 600
ROOM = 20_000  # characters of a table

# GitHub makes a link of these in words, and notifies people, however they are escaped; never in a code span.
# Addresses are among them: a link to an issue leaves a note there.
_REFERENCE = re.compile(r"@(?=\w)|#(?=\d)|GH-(?=\d)|(?<=:)(?=//)|www(?=\.)", re.IGNORECASE)

Row = Sequence[str]


def words(text: str, limit: int = WORDS) -> Markdown:
    """``text`` as plain words on one line, with a zero-width space in what would be a mention, a reference
    or an address."""
    return Markdown(_REFERENCE.sub(lambda match: f"{match[0]}&#8203;", inline(_short(text, limit))))


def cell_code(text: str, limit: int = CELL) -> Markdown:
    """``text`` as a code span that may stand in the cell of a table."""
    # A pipe would end the cell even in a code span, and ``code`` would give up the span for it.
    return code(_short(text, limit).replace("|", "¦"))


def table(head: Row, rows: Sequence[Row], limit: int = ROWS, room: int = ROOM) -> str:
    """A table of cells that are Markdown already; below it, how many rows are left out."""
    kept = fitting([f"| {' | '.join(row)} |" for row in rows[:limit]], room)
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *kept]
    rest = len(rows) - len(kept)
    return "\n".join(lines) + (
        f"\n\n{rest:,} more {'is' if rest == 1 else 'are'} not shown." if rest > 0 else ""
    )


def fitting(lines: Sequence[str], room: int) -> Sequence[str]:
    """The first lines that have ``room`` characters together."""
    sizes = accumulate(len(line) + 1 for line in lines)
    return lines[: sum(size <= room for size in sizes)]


def bounded(blocks: Iterable[str], limit: int, rest: str) -> str:
    """The first blocks that fit into ``limit`` characters; the sentence ``rest`` stands for those that do
    not. A block is never cut, so that no table, code span or tag stays open."""
    kept: list[str] = []
    left = limit - len(rest) - 1
    for block in blocks:
        left -= len(block) + 2
        if left < 0:
            kept.append(rest)
            break
        kept.append(block)
    return "\n\n".join(kept) + "\n"


def _short(text: str, limit: int) -> str:
    """``text`` on one line, cut after what does not print was escaped, which makes it longer."""
    text = without_shapes(text)[: limit * 4]  # in this order: half of a credential is known to nobody
    return printable(" ".join(text.split()), keep="", limit=limit)
