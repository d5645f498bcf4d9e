"""Annotations of GitHub Actions: a workflow command for each finding, at the line of the recipe.

The form is documented under "Workflow commands for GitHub Actions"; the runner reads it as
``src/Runner.Common/ActionCommand.cs`` of actions/runner does. A step shows at most 10 errors, 10 warnings and
10 notices and drops the rest without a word, so the last of each kind says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zoo.report.findings import Entry, Named, by_reason, entries, exit_status, not_checked, one_line, title
from zoo.report.text import place
from zoo.results import Severity, Where

PER_STEP = 10
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = _DATA | {":": "%3A", ",": "%2C"}
_TITLE, _MESSAGE = 200, 2_000


def render(reports: Named, prefix: str = "") -> str:
    """One command a line, then the verdict as plain text."""
    return "\n".join([*_annotations(reports, prefix), _verdict(reports)])


def command(kind: str, message: str, where: Where | None = None, *, title: str, prefix: str = "") -> str:
    """``::KIND file=...,line=...,col=...,title=...::MESSAGE``. ``message`` may have several lines."""
    properties: dict[str, str] = {}
    if where is not None and where.file is not None:
        properties["file"] = one_line(prefix + where.file)
        if where.line is not None:
            properties |= {"line": str(where.line), "endLine": str(where.line)}
            if where.column is not None:
                properties["col"] = str(where.column)
    properties["title"] = one_line(title, _TITLE)
    said = ",".join(f"{key}={_escaped(value, _PROPERTY)}" for key, value in properties.items())
    return f"::{kind} {said}::{_escaped(message, _DATA)}"


def _annotations(reports: Named, prefix: str) -> Iterator[str]:
    found = entries(reports)
    for severity, kind in _COMMANDS.items():
        lines = list(
            _of_severity([each for each in found if each.finding.severity is severity], kind, prefix)
        )
        if severity is Severity.WARNING:
            lines += _missing(reports)
        more = len(lines) - PER_STEP
        if more > 0:
            lines = lines[: PER_STEP - 1]
            lines.append(command(kind, "see the job summary or the log", title=f"{more + 1:,} more"))
        yield from lines


def _of_severity(found: Sequence[Entry], kind: str, prefix: str) -> Iterator[str]:
    for entry in found:
        finding = entry.finding
        lines = [one_line(finding.message, _MESSAGE)]
        lines += [f"at {place(other)}" for other in entry.elsewhere]
        if finding.hint:
            lines.append(f"-> {one_line(finding.hint, _MESSAGE)}")
        head = title(finding) + (f" ({entry.name})" if entry.name else "")
        yield command(kind, "\n".join(lines), entry.place, title=head, prefix=prefix)


def _missing(reports: Named) -> Iterator[str]:
    """What should have been checked and was not: it decides the exit status."""
    for name, report in reports:
        groups = by_reason(result for _, result in not_checked([(name, report)]) if result.required)
        for (reason, _), codes in groups.items():
            head = f"{name}: not checked" if name else "not checked"
            yield command("warning", f"{one_line(reason, _MESSAGE)}\n{', '.join(codes)}", title=head)


def _verdict(reports: Named) -> str:
    word = {0: "ok", 1: "failed", 2: "could not check"}[exit_status(reports)]
    found = entries(reports)
    counts = [
        f"{count:,} {severity}" + ("" if count == 1 else "s")
        for severity in Severity
        for count in [sum(entry.finding.severity is severity for entry in found)]
    ]
    return f"{word}  {', '.join(counts)}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(char, char) for char in text)
