"""What a check says: findings, results of checks, and the report that holds them.

Checks are pure functions ``Subject -> Iterable[Finding]``; renderers (``zoo.report``) are pure functions of a
:class:`Report`. A check that did not run is *not checked*, with its reason; it never counts as passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

REPORT_SCHEMA = "zoo-report/1"


class Severity(StrEnum):
    """How much a finding matters. Only errors change the exit status (with ``--strict``, warnings too)."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Outcome(StrEnum):
    """What became of one check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not_checked"


def of_these_bytes(recipe: str) -> str:
    """What would say whether a record of evidence was made with the bytes that a recipe has now."""
    return f"zoo verify {recipe} --deep says whether it was with these bytes"


def no_evidence(gate: str) -> str:
    """Why a gate was not checked for which there is no record at all, in the words of a manifest."""
    return f"no {gate} evidence for this checkpoint"


@dataclass(frozen=True, slots=True)
class Where:
    """A place: a file and, as far as they are known, line and column (from 1), JSON pointer, tensor name."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    pointer: str | None = None
    tensor: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {key: value for key in self.__slots__ if (value := getattr(self, key)) is not None}


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact that somebody should act on.

    A check leaves ``code`` and ``severity`` to the rule it belongs to (``zoo.rules.run``). ``where`` is the
    place itself, ``related`` the other side of the contradiction: for a checkpoint, the line of the recipe.
    """

    message: str
    hint: str
    where: Where = Where()
    related: tuple[Where, ...] = ()
    code: str = ""
    severity: Severity = Severity.ERROR

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "hint": self.hint,
            "where": self.where.as_json(),
            "related": [place.as_json() for place in self.related],
        }


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The outcome of one rule. ``required``: the requested level includes it, so not running it is exit 2."""

    code: str
    outcome: Outcome
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    required: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "outcome": str(self.outcome),
            "reason": self.reason,
            "required": self.required,
            "findings": [finding.as_json() for finding in self.findings],
        }


@dataclass(frozen=True)
class Report:
    """Everything one verification found out. ``subject`` is a few plain facts about what was looked at."""

    level: str
    subject: Mapping[str, Any]
    results: tuple[CheckResult, ...]
    strict: bool = False
    tool: str = field(default="")

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, errors first, otherwise in the order of the rules."""
        order = list(Severity)
        found = [finding for result in self.results for finding in result.findings]
        return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def not_checked(self) -> tuple[CheckResult, ...]:
        return tuple(result for result in self.results if result.outcome is Outcome.NOT_CHECKED)

    @property
    def exit_status(self) -> int:
        """0: all required checks ran without an error. 1: an error. 2: a required check could not run."""
        if self.count(Severity.ERROR) or (self.strict and self.count(Severity.WARNING)):
            return 1
        return 2 if any(result.required for result in self.not_checked) else 0

    def as_json(self) -> dict[str, Any]:
        """The report as ``zoo-report/1`` (``zoo/schemas/zoo-report-1.json``)."""
        outcomes = {str(outcome): 0 for outcome in Outcome}
        for result in self.results:
            outcomes[str(result.outcome)] += 1
        return {
            "schema": REPORT_SCHEMA,
            "tool": self.tool,
            "level": self.level,
            "subject": dict(self.subject),
            "results": [result.as_json() for result in self.results],
            "summary": outcomes | {f"{severity}s": self.count(severity) for severity in Severity},
            "exit": self.exit_status,
        }
