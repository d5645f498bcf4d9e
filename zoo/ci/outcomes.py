"""Findings about a change, as results of the rules that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zoo import rules
from zoo.results import CheckResult, Finding, Outcome, Severity
from zoo.rules import Absent, Level, Subject


def outcomes(
    findings: Iterable[Finding],
    codes: frozenset[str],
    change: Iterable[str],
    severity: Mapping[str, Severity],
    missing: Mapping[str, Absent] | None = None,
) -> tuple[CheckResult, ...]:
    """The outcome of every rule of ``codes``, by code. ``change``: the files that were looked at;
    ``missing``: why a rule could not be asked, by its code; ``severity``: the settings of the base."""
    subject = Subject(None, None, change=tuple(change), reported=tuple(findings), severity=severity)
    results = [result for result in rules.run(subject, Level.CHANGE) if result.code in codes]
    absent = missing or {}
    return tuple(
        CheckResult(result.code, Outcome.NOT_CHECKED, *_said(absent[result.code]))
        if result.code in absent and not result.findings
        else result
        for result in results
    )


def _said(absent: Absent) -> tuple[str, tuple[Finding, ...], bool]:
    return absent.reason, (), absent.required
