"""What engines make of a draft, as text: a matrix (groups of tensors by engine) and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from zoo.engines.readings import EngineReading, Missing
from zoo.engines.readings.words import grouped, sentences, title
from zoo.printable import printable

FROM_RECIPE = "(no checkpoint here: the tensors and the config are those that the recipe implies)"


def render_engines(readings: Sequence[EngineReading], *, implied: bool) -> str:
    """The matrix of ``readings`` and what each says; ``implied``: there was no file, only a recipe."""
    lines = [FROM_RECIPE, ""] if implied else []
    lines += [*_matrix(readings), ""]
    for reading in readings:
        lines += sentences(reading)
    return printable("\n".join(lines))


def engines_json(readings: Sequence[EngineReading], *, implied: bool) -> list[dict[str, Any]]:
    """The key ``engines`` of a report (``zoo/schemas/zoo-report-1.json``)."""
    source = "recipe" if implied else "checkpoint"
    return [{**reading.as_json(), "draft": source, "words": sentences(reading)} for reading in readings]


def _matrix(readings: Sequence[EngineReading]) -> Iterator[str]:
    """One row per group of tensors, of the file or only looked for; one column per engine."""
    names = dict.fromkeys(name for reading in readings for name in (*reading.fates, *reading.missing))
    table = [["", *(title(reading) for reading in readings)]]
    for label, members in grouped(names).items():
        table.append([label, *(_cell(reading, members) for reading in readings)])
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _cell(reading: EngineReading, members: Sequence[str]) -> str:
    if not reading.covered:
        return "not read here"
    fates = [str(reading.fates[name]) for name in members if name in reading.fates]
    absent = [
        str(held) if held in (Missing.BORROWED, Missing.UNUSED) else f"missing: {held}"
        for name in members
        if name not in reading.fates and (held := reading.missing.get(name)) is not None
    ]
    states = Counter([*fates, *absent])
    if not states:
        return "-"
    if len(states) == 1:
        return next(iter(states))
    return ", ".join(f"{count} {state}" for state, count in states.items())
