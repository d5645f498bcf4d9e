"""The registry of rules, and the one function that runs them.

A rule is one small unit: a stable code, a name, a severity, the materials that it needs, a pure check, and
its documentation, which is the docstring of the check. ``zoo rule CODE`` and the rule pages are generated
from it.

    @rule("C011", "block-size", needs=("recipe", "config"))
    def block_size(subject: Subject) -> Iterable[Finding]:
        '''The config's block size is not the recipe's.

        What it does: ...
        '''

Facts that are found while a file is read (a duplicate key in a header, say) are recorded there as findings
with their code; :func:`reported` registers the rule that documents such a code and lists its findings.

Letters: R recipe, F file and header, I inventory, C config, D deep, B base and previous release, E engine
hazard, L launch, T replay, S smoke, K card, P release, V change (a pull request), X hostile input. A code is
never reused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from zoo.results import CheckResult, Finding, Outcome, Severity

if TYPE_CHECKING:
    from zoo.recipe.model import Recipe
    from zoo.rules.subject import Subject

Check = Callable[["Subject"], Iterable[Finding]]
_CODE = re.compile(r"[RFICDBELTSKPVX]\d{3}")
_HEADING = re.compile(r"^ *(What it does|Why is this bad|Example|Use instead|Sources|Since): ?", re.MULTILINE)


class Level(StrEnum):
    """How much is read. Header: recipe, config and the first bytes of each weights file. Deep: every byte.
    Signature and change stand beside the two: what ``zoo verify --signature`` and ``zoo ci`` ask besides."""

    HEADER = "header"
    DEEP = "deep"
    SIGNATURE = "signature"
    CHANGE = "change"


class Rule(NamedTuple):
    """One rule. ``needs`` names materials of the subject (``zoo.rules.subject``) without which it cannot
    run."""

    code: str
    name: str
    severity: Severity
    level: Level
    needs: tuple[str, ...]
    doc: str
    check: Check

    @property
    def summary(self) -> str:
        """The first line of the documentation: what is wrong when the rule fires."""
        return self.doc.partition("\n")[0]

    @property
    def sections(self) -> dict[str, str]:
        """The documentation under its fixed headings, in order, each as one paragraph."""
        parts = _HEADING.split(self.doc)[1:]
        return {head: " ".join(body.split()) for head, body in zip(parts[::2], parts[1::2], strict=True)}


RULES: dict[str, Rule] = {}
# A folder with one cause of trouble, or one that is no checkpoint at all, should not print a thousand lines.
SHOWN_PER_CODE = 10


def rule(
    code: str,
    name: str,
    *,
    severity: Severity = Severity.ERROR,
    level: Level = Level.HEADER,
    needs: tuple[str, ...] = ("checkpoint",),
) -> Callable[[Check], Check]:
    """Register a check under ``code``. Its docstring is the rule's documentation."""

    def register(check: Check) -> Check:
        if not _CODE.fullmatch(code) or code in RULES:
            raise ValueError(f"rule code {code} is malformed or taken")
        RULES[code] = Rule(code, name, severity, level, needs, check.__doc__ or "", check)
        return check

    return register


def reported(
    code: str,
    name: str,
    *,
    severity: Severity = Severity.ERROR,
    level: Level = Level.HEADER,
    needs: tuple[str, ...] = ("checkpoint",),
) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register the documentation of a code whose findings the readers record (``Subject.reported``)."""

    def register(documented: Callable[[], None]) -> Callable[[], None]:
        def select(subject: Subject) -> Iterable[Finding]:
            return (finding for finding in subject.reported if finding.code == code)

        select.__doc__ = documented.__doc__
        rule(code, name, severity=severity, level=level, needs=needs)(select)
        return documented

    return register


def run(subject: Subject, level: Level, about: str | None = None) -> tuple[CheckResult, ...]:
    """Run every rule of ``level`` (a deeper level includes the ones before it), in the order of the codes;
    with ``about`` only those that need this material."""
    wanted = (Level.HEADER, Level.DEEP) if level is Level.DEEP else (level,)
    chosen = sorted(
        (rule for rule in RULES.values() if rule.level in wanted and about in (None, *rule.needs)),
        key=lambda rule: rule.code,
    )
    results = _override(tuple(_run_one(rule, subject) for rule in chosen), subject.severity)
    return results if subject.recipe is None else _waive(results, subject.recipe, subject.today)


def _run_one(rule: Rule, subject: Subject) -> CheckResult:
    for material in rule.needs:
        absent = subject.absent(material)
        if absent is not None:
            return CheckResult(rule.code, Outcome.NOT_CHECKED, absent.reason, required=absent.required)
    findings = tuple(
        replace(finding, code=rule.code, severity=rule.severity, related=subject.relate(finding))
        for finding in rule.check(subject)
    )
    gap = None if findings else next((gap for each in rule.needs if (gap := subject.gap(each))), None)
    if gap is not None:
        return CheckResult(rule.code, Outcome.NOT_CHECKED, gap.reason, required=gap.required)
    outcome = Outcome.FAILED if findings else Outcome.PASSED
    return CheckResult(rule.code, outcome, findings=_shortened(findings))


def _shortened(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The first findings of a rule; the last of them says how many more there are."""
    more = len(findings) - SHOWN_PER_CODE
    if more <= 0:
        return findings
    last = findings[SHOWN_PER_CODE - 1]
    message = f"{last.message} (and {more:,} more like this)"
    return (*findings[: SHOWN_PER_CODE - 1], replace(last, message=message))


def _override(results: tuple[CheckResult, ...], severity: Mapping[str, Severity]) -> tuple[CheckResult, ...]:
    """Give the findings of a code the severity that the settings of the zoo state, and say so in each."""
    return tuple(
        replace(
            result,
            findings=tuple(
                replace(
                    finding,
                    severity=severity[result.code],
                    message=f"{finding.message} ({finding.severity} by default, "
                    f"{severity[result.code]} by the settings)",
                )
                for finding in result.findings
            ),
        )
        if severity.get(result.code, RULES[result.code].severity) is not RULES[result.code].severity
        else result
        for result in results
    )


def _waive(results: tuple[CheckResult, ...], recipe: Recipe, today: date) -> tuple[CheckResult, ...]:
    """Turn the findings of a waived code into notes that carry the reason, until the waiver expires."""
    reasons = {waiver.code: waiver.reason for waiver in recipe.waivers if waiver.until >= today}
    return tuple(
        replace(
            result,
            findings=tuple(
                replace(
                    finding,
                    severity=Severity.NOTE,
                    message=f"{finding.message} (waived: {reasons[result.code]})",
                )
                for finding in result.findings
            ),
        )
        if result.code in reasons
        else result
        for result in results
    )
