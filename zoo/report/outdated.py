"""What is outdated, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import click

from zoo.outdated import Survey
from zoo.printable import printable
from zoo.report.markdown import cell_code, table, words
from zoo.report.text import place


def render(survey: Survey) -> str:
    """The survey as text for people, recipe by recipe."""
    return "\n".join(_lines(survey))


def markdown(survey: Survey) -> str:
    """The survey as a table, and below it what was not looked at."""
    rows = [
        (cell_code(each.recipe), str(each.kind), words(each.message), words(each.hint))
        for each in survey.outdated
    ]
    head = ("draft", "what", "finding", "next")
    blocks = [table(head, rows, len(rows)) if rows else "Nothing is outdated."]
    rest = [
        f"- {cell_code(each.recipe)}: {words(each.about)} not checked: {words(each.reason)}"
        for each in survey.not_checked
    ]
    if rest:
        blocks.append("\n".join(rest))
    return "\n\n".join(blocks)


def _lines(survey: Survey) -> Iterator[str]:
    for name in survey.recipes:
        found = [each for each in survey.outdated if each.recipe == name]
        if found:
            yield click.style(name, bold=True)
        for each in found:
            yield f"  {click.style(f'{each.kind:<8}', fg='yellow')}  {printable(each.message, keep='')}"
            if shown := place(each.where):
                yield f"            at {shown}"
            yield f"            -> {printable(each.hint, keep='')}"
        if found:
            yield ""
    reasons: dict[tuple[str, str], list[str]] = {}
    for missing in survey.not_checked:
        reasons.setdefault((missing.about, missing.reason), []).append(missing.recipe)
    for (about, reason), names in reasons.items():
        label = click.style("not checked", fg="magenta")
        yield printable(f"{label} {about} ({', '.join(names)}): {reason}", keep="\x1b")
    if survey.up_to_date:
        yield f"{click.style('up to date', fg='green')}  {', '.join(survey.up_to_date)}"
