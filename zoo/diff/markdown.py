"""A diff as Markdown: for the comment of a pull request, or for release notes.

Text from outside is made inert, also as a mention (@name) or a reference (#12), and the whole is bounded
whatever the two sides hold: GitHub refuses a comment of more than 65,536 characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from zoo.card.markdown import code, inline
from zoo.diff import words
from zoo.diff.model import ConfigChange, Diff, Inventory, Numbers

LIMIT = 60_000
_ROWS, _CELL = 20, 200

# GitHub makes a link of these in words, and notifies people, however they are escaped; never in a code span.
_REFERENCE = re.compile(r"@(?=\w)|#(?=\d)")

Row = Sequence[str]


def render(diff: Diff) -> str:
    """Headline, a table for each part that differs, and what was not compared."""
    blocks = [f"**{inline(words.verdict(diff))}**", "\n".join(_sides(diff))]
    for title, head, rows in _tables(diff):
        blocks.append(f"**{title}**\n\n{_table(head, rows)}")
    if diff.numbers is not None:
        blocks += list(_numbers(diff.numbers))
    rest = [f"- not compared, {each.part}: {_words(each.reason)}" for each in diff.not_compared]
    rest += [f"- {_words(note)}" for note in diff.notes]
    if rest:
        blocks.append("\n".join(rest))
    return _bounded(blocks)


def _sides(diff: Diff) -> Iterator[str]:
    for name, side in (("A", diff.a), ("B", diff.b)):
        yield f"- {name}: {_words(words.side(side))}"


def _tables(diff: Diff) -> Iterator[tuple[str, Row, Sequence[Row]]]:
    """Title, head and cells of every part that has any; cells are Markdown already."""
    if diff.recipe:
        cells = [
            [_code(each.pointer), _code(words.value(each.a)), _code(words.value(each.b))]
            for each in diff.recipe
        ]
        yield "Recipe", ["place", "A", "B"], cells
    for title, found in words.by_reader(diff.config or ()):
        yield title.capitalize(), ["key", "A", "B"], [_config(each) for each in found]
    if diff.inventory is not None:
        yield from _inventory(diff.inventory)
    if diff.files is not None and diff.files.changed:
        rows = [[_code(each.path), words.file(each.a), words.file(each.b)] for each in diff.files.changed]
        yield "Files", ["file", "A", "B"], rows


def _config(change: ConfigChange) -> Row:
    key = _code(change.key)
    if change.moved:
        key += f" ({_code(words.spelling(change))})"
    return [key, _code(words.value(change.a)), _code(words.value(change.b))]


def _inventory(inventory: Inventory) -> Iterator[tuple[str, Row, Sequence[Row]]]:
    rows: list[Row] = [[_code(name), words.form(form), "absent"] for name, form in inventory.only_a.items()]
    rows += [[_code(name), "absent", words.form(form)] for name, form in inventory.only_b.items()]
    rows += [
        [_code(each.name_a), words.form(each.a), words.form(each.b)]
        for each in inventory.pairs
        if not each.same_form
    ]
    if rows:
        yield "Tensors", ["tensor", "A", "B"], [[cell.replace("[", "\\[") for cell in row] for row in rows]
    if inventory.renamed:
        yield "Renamed tensors", ["A", "B"], [[_code(p.name_a), _code(p.name_b)] for p in inventory.renamed]
    if inventory.metadata:
        cells = [
            [_code(c.pointer), _code(words.value(c.a)), _code(words.value(c.b))] for c in inventory.metadata
        ]
        yield "Metadata of the headers", ["place", "A", "B"], cells


def _numbers(numbers: Numbers) -> Iterator[str]:
    changed, unchanged = numbers.changed, numbers.unchanged
    whole = "not a number" if numbers.relative is None else f"{numbers.relative:.4g}"
    yield (
        f"**Numbers**: {len(changed):,} of {len(numbers.tensors):,} tensors changed; relative change of all "
        f"float tensors {whole} (norm of the difference over the norm of A)."
    )
    if changed:
        rows = [
            [_code(each.name_a), words.change_of(each), "" if each.largest is None else f"{each.largest:.3g}"]
            for each in changed
        ]
        yield _table(["tensor", "relative change", "largest change"], rows)
    if changed and unchanged:
        names = ", ".join(_code(each.name_a) for each in unchanged[:_ROWS])
        more = f" and {len(unchanged) - _ROWS:,} more" if len(unchanged) > _ROWS else ""
        yield f"Unchanged, byte for byte: {names}{more}."


def _table(head: Row, rows: Sequence[Row]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows[:_ROWS]]
    rest = len(rows) - _ROWS
    return "\n".join(lines) + (f"\n\n{rest:,} more are not shown." if rest > 0 else "")


def _bounded(blocks: Sequence[str]) -> str:
    """The blocks that fit; a block is never cut, so that no table or code span stays open."""
    kept: list[str] = []
    left = LIMIT
    for block in blocks:
        left -= len(block) + 2
        if left < 0:
            kept.append("The rest does not fit here: see `zoo diff --format json`.")
            break
        kept.append(block)
    return "\n\n".join(kept) + "\n"


def _code(text: str) -> str:
    # A pipe would end the cell of a table even in a code span, and ``code`` would give up the span for it.
    return code(_short(text).replace("|", "¦"))


def _words(text: str) -> str:
    """Words with a zero-width space in what would be a mention."""
    return _REFERENCE.sub(lambda match: f"{match[0]}&#8203;", inline(_short(text, 600)))


def _short(text: str, limit: int = _CELL) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
