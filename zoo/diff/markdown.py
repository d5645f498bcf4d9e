"""A diff as Markdown: for the comment of a pull request, or for release notes.

Text from outside is made inert, also as a mention (@name) or a reference (#12), and the whole is bounded
whatever the two sides hold: GitHub refuses a comment of more than 65,536 characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zoo.card.markdown import inline
from zoo.diff import words
from zoo.diff.model import ConfigChange, Diff, Inventory, Numbers
from zoo.report.markdown import ROWS, Row, bounded
from zoo.report.markdown import cell_code as _code
from zoo.report.markdown import table as _table
from zoo.report.markdown import words as _words

LIMIT = 60_000
_REST = "The rest does not fit here: see `zoo diff --format json`."


def render(diff: Diff, limit: int = LIMIT) -> str:
    """Headline, a table for each part that differs, and what was not compared, in ``limit`` characters."""
    blocks = [f"**{inline(words.verdict(diff))}**", "\n".join(_sides(diff))]
    for title, head, rows in _tables(diff):
        blocks.append(f"**{title}**\n\n{_table(head, rows)}")
    if diff.numbers is not None:
        blocks += list(_numbers(diff.numbers))
    rest = [f"- not compared, {each.part}: {_words(each.reason)}" for each in diff.not_compared]
    rest += [f"- {_words(note)}" for note in diff.notes]
    if rest:
        blocks.append("\n".join(rest))
    return bounded(blocks, limit, _REST)


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
    key: str = _code(change.key)
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
        names = ", ".join(_code(each.name_a) for each in unchanged[:ROWS])
        more = f" and {len(unchanged) - ROWS:,} more" if len(unchanged) > ROWS else ""
        yield f"Unchanged, byte for byte: {names}{more}."
