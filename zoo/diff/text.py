"""A diff as text for people. Everything that comes from outside is made printable here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from zoo.diff import words
from zoo.diff.model import ConfigChange, Diff, Files, Inventory, Numbers
from zoo.printable import printable

SHOWN = 20  # lines of one kind; the JSON has all
_TOP = 10


def render(diff: Diff) -> str:
    """The whole diff. Styled with ANSI codes, which ``click.echo`` strips where they do not belong."""
    lines = [_safe(f"A  {words.side(diff.a)}"), _safe(f"B  {words.side(diff.b)}")]
    for title, rows in _sections(diff):
        lines += ["", click.style(title, bold=True), *(f"  {_safe(row)}" for row in rows)]
    lines.append("")
    for each in diff.not_compared:
        label = click.style("not compared", fg="magenta", bold=each.required)
        lines.append(f"{label} {each.part}: {_safe(each.reason)}")
    lines += [f"{click.style('note', fg='cyan')} {_safe(note)}" for note in diff.notes]
    colour = {0: "green", 1: "yellow", 2: "magenta"}[diff.exit_status]
    return "\n".join([*lines, click.style(words.verdict(diff), fg=colour, bold=True)])


def _sections(diff: Diff) -> Iterator[tuple[str, list[str]]]:
    """Title and lines of every part that has any."""
    if diff.recipe:
        rows = (f"{each.pointer}  {words.value(each.a)} -> {words.value(each.b)}" for each in diff.recipe)
        yield "recipe", _cut(list(rows))
    for title, found in words.by_reader(diff.config or ()):
        yield title, _cut([_config(each) for each in found])
    if diff.inventory is not None:
        yield from _inventory(diff.inventory)
    if diff.files is not None and diff.files.changed:
        yield "files", _cut(list(_files(diff.files)))
    if diff.numbers is not None:
        yield from _numbers(diff.numbers)


def _config(change: ConfigChange) -> str:
    if change.moved:
        return f"{change.key}  {words.value(change.a)} ({words.spelling(change)})"
    row = f"{change.key}  {words.value(change.a)} -> {words.value(change.b)}"
    both = change.pointer_a is not None and change.pointer_b is not None
    return row + (f" ({words.spelling(change)})" if both and change.pointer_a != change.pointer_b else "")


def _inventory(inventory: Inventory) -> Iterator[tuple[str, list[str]]]:
    for side, only in (("A", inventory.only_a), ("B", inventory.only_b)):
        if only:
            yield f"tensors only in {side}", _cut([f"{name}  {words.form(only[name])}" for name in only])
    if inventory.renamed:
        yield "renamed tensors", _cut([f"{each.name_a} -> {each.name_b}" for each in inventory.renamed])
    for title, found in (("another shape", inventory.reshaped), ("another dtype", inventory.recast)):
        if found:
            rows = [f"{each.name_a}  {words.form(each.a)} -> {words.form(each.b)}" for each in found]
            yield f"tensors of {title}", _cut(rows)
    if inventory.metadata:
        rows = [
            f"{each.pointer}  {words.value(each.a)} -> {words.value(each.b)}" for each in inventory.metadata
        ]
        yield "metadata of the headers", _cut(rows)


def _files(files: Files) -> Iterator[str]:
    for each in files.changed:
        yield f"{each.path}  {words.file(each.a)} -> {words.file(each.b)}"


def _numbers(numbers: Numbers) -> Iterator[tuple[str, list[str]]]:
    changed, unchanged = numbers.changed, numbers.unchanged
    whole = "not a number" if numbers.relative is None else f"{numbers.relative:.6g}"
    rows = [f"relative change norm(A - B) / norm(A) of all float tensors: {whole}"]
    rows.append(f"{len(changed):,} of {len(numbers.tensors):,} compared tensors changed")
    yield "numbers", rows
    if changed:
        shown = [
            f"{words.change_of(each)}  {each.name_a}"
            + ("" if each.largest is None else f"  (at most {each.largest:.3g}")
            + ("" if each.largest is None else f", {each.changed:,} of {each.elements:,} elements)")
            for each in changed
        ]
        yield "most changed tensors", _cut(shown, _TOP)
    if unchanged and changed:
        yield "unchanged tensors, byte for byte", _cut([each.name_a for each in unchanged])


def _cut(rows: Sequence[str], limit: int = SHOWN) -> list[str]:
    rest = len(rows) - limit
    return [*rows[:limit], *([f"and {rest:,} more (--format json lists all)"] if rest > 0 else [])]


def _safe(text: str) -> str:
    return printable(text, keep="", limit=600)
