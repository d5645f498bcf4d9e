"""A report as text for people. Everything that comes from outside is made printable here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from zoo.printable import printable
from zoo.results import CheckResult, Finding, Report, Severity, Where

# More of one message helps nobody; what says much (a recipe's prose, an engine's answer) has less.
LONGEST = 4_000
_COLOUR = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def render(report: Report, *, notes: bool = True) -> str:
    """The whole report. Styled with ANSI codes, which ``click.echo`` strips where they do not belong."""
    return "\n".join(_lines(report, notes))


def finding_lines(finding: Finding, *, hint: bool = True) -> Iterator[str]:
    """A finding: severity, code and message, then each place, then the next action."""
    label = click.style(f"{finding.severity} {finding.code}", fg=_COLOUR[finding.severity], bold=True)
    yield f"{label} {printable(finding.message, keep='', limit=LONGEST)}"
    shown = place(finding.where)
    if shown:
        yield f"    at {shown}"
    for related in finding.related:
        other = place(related)
        if other and other != shown:
            yield f"    against {other}"
    if finding.hint and hint:
        yield f"    -> {printable(finding.hint, keep='', limit=LONGEST)}"


def place(where: Where) -> str:
    """``file:line:column`` and, where they are known, the JSON pointer and the tensor."""
    numbers = [str(number) for number in (where.line, where.column) if number is not None]
    parts = [":".join([where.file or "", *numbers])] if where.file else []
    if where.pointer and not numbers:
        parts.append(where.pointer)
    if where.tensor is not None:
        parts.append(f"tensor {where.tensor}")
    return printable(" ".join(parts), keep="", limit=300)


def summary(report: Report) -> str:
    """One line: what was checked, and what came of it."""
    counts = [
        f"{count} {word}" + ("" if count == 1 else "s")
        for severity in Severity
        if (count := report.count(severity)) or severity is not Severity.NOTE
        for word in [str(severity)]
    ]
    ran = len(report.results) - len(report.not_checked)
    line = f"{ran} checks ran at {report.level} level: {', '.join(counts)}"
    if report.not_checked:
        line += f"; {len(report.not_checked)} not checked"
    return line


def _lines(report: Report, notes: bool) -> Iterator[str]:
    facts = report.subject
    if "tensors" in facts:
        dtypes = ", ".join(facts["dtypes"]) or "no dtype"
        source = facts["checkpoint"] + (f" (commit {facts['revision']})" if "revision" in facts else "")
        yield printable(
            f"{source}: {facts['tensors']:,} tensors, {dtypes}, {facts['bytes']:,} bytes",
            keep="",
            limit=LONGEST,
        )
    if "family" in facts:
        yield f"family: {facts['family']}"
    if "signature" in facts:
        yield printable(f"signature: {facts['signature']}", keep="", limit=1000)
    if facts.keys() & {"tensors", "family", "signature"}:
        yield ""
    shown = [finding for finding in report.findings if notes or finding.severity is not Severity.NOTE]
    for index, finding in enumerate(shown):
        after = shown[index + 1] if index + 1 < len(shown) else None
        last = after is None or (after.code, after.hint) != (finding.code, finding.hint)
        yield from finding_lines(finding, hint=last)
        if last:
            yield ""
    yield from _not_checked(report.not_checked)
    yield _verdict(report)


def _not_checked(results: Iterable[CheckResult]) -> Iterator[str]:
    """The checks that did not run, by reason."""
    by_reason: dict[str, list[CheckResult]] = {}
    for result in results:
        by_reason.setdefault(result.reason, []).append(result)
    for reason, group in by_reason.items():
        codes = ", ".join(result.code for result in group[:6]) + (
            f" and {len(group) - 6} more" if len(group) > 6 else ""
        )
        label = click.style("not checked", fg="magenta", bold=any(result.required for result in group))
        yield f"{label} {codes}: {printable(reason, keep='', limit=LONGEST)}"
    if by_reason:
        yield ""


def _verdict(report: Report) -> str:
    word, colour = {0: ("ok", "green"), 1: ("failed", "red"), 2: ("could not check", "magenta")}[
        report.exit_status
    ]
    strict = " (--strict: warnings count)" if report.strict and not report.count(Severity.ERROR) else ""
    return f"{click.style(word, fg=colour, bold=True)}  {summary(report)}{strict}"
