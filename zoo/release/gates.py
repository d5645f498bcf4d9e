"""The four gates of a release: static, bytes, replay, smoke. A gate that did not run is *not checked*; it
never counts as passed, and one that passed says which of its checks did not run or were waived.

Static and bytes are always asked for. Replay and smoke are asked for by ``gates:`` in the recipe and
answered by evidence, which counts only if it is bound to this very checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zoo.card.standing import not_asked_for
from zoo.errors import ReleaseRefusedError
from zoo.evidence import GATE, UNSIGNED, file_of
from zoo.recipe.model import Recipe, Waiver
from zoo.results import CheckResult, Finding, Outcome, Report, Severity, no_evidence
from zoo.rules.registry import RULES, Level

if TYPE_CHECKING:
    from zoo.evidence import Evidence

GATES = ("static", "bytes", "replay", "smoke")
_LEVELS = {"static": Level.HEADER, "bytes": Level.DEEP}
# The gates that evidence of the same kind answers. A reference loop measures, but it is neither of them.
_OF_EVIDENCE = ("replay", "smoke")


class GateMissingError(ReleaseRefusedError):
    """A gate that the recipe asks for was not checked, and nobody said why: exit 2, as for any check that
    could not run."""

    exit_status = 2


@dataclass(frozen=True, slots=True)
class Gate:
    """What became of one gate. ``asked``: a release needs it. ``reason`` says why it failed or was not
    checked and, of one that passed, what that does not cover."""

    name: str
    asked: bool
    outcome: Outcome
    reason: str = ""


def evaluate(
    recipe: Recipe, report: Report, evidence: Iterable[Evidence], standin: bool = False
) -> tuple[Gate, ...]:
    """All four gates, from the deep report and the evidence, of which stale records do not count. That the
    bytes are those of a stand-in is said wherever the gates are listed."""
    evidence = list(evidence)
    # T and S repeat what the evidence of the other two gates says.
    of_bytes = [result for result in report.results if result.code[0] not in "TS"]
    of_level = {
        name: _of_rules([result for result in of_bytes if RULES[result.code].level is level], recipe)
        for name, level in _LEVELS.items()
    }
    outcome, reason = of_level["bytes"]
    if standin and outcome is Outcome.PASSED:
        of_level["bytes"] = outcome, f"of a stand-in: right names and shapes, no trained weights; {reason}"
    ran = [Gate(name, True, *outcome) for name, outcome in of_level.items()]
    served = [Gate(name, name in recipe.gates, *of_evidence(name, evidence, recipe)) for name in _OF_EVIDENCE]
    return (*ran, *served)


def refusals(
    gates: Iterable[Gate], unchecked: Mapping[str, str], recipe: Recipe, copies: Mapping[str, str]
) -> Iterable[ReleaseRefusedError]:
    """Why these gates stop a push: each that fails and, without a reason in ``unchecked``, each that is
    missing. ``copies``: gate -> the command that brings evidence of another version which answers it."""
    for gate in gates:
        if gate.asked and gate.outcome is Outcome.FAILED:
            yield ReleaseRefusedError(
                f"{recipe.name} {recipe.version}: gate {gate.name} fails: {gate.reason}",
                hint="mend what the findings say; a failing gate cannot be passed over",
            )
        elif is_missing(gate, unchecked):
            how = "run it"
            record, _, why = gate.reason.partition(": ")
            if why == UNSIGNED:
                how = f"sign it: zoo sign {file_of(recipe, record)} --key KEY"
            if command := copies.get(gate.name):
                how = f"it ran for these very files and settings in another version, and counts: {command}"
            yield GateMissingError(
                f"{recipe.name} {recipe.version}: gate {gate.name} was not checked: {gate.reason}",
                hint=f'{how}, or state in the release why it is missing: --unchecked {gate.name}="..."',
            )


def is_missing(gate: Gate, unchecked: Mapping[str, str]) -> bool:
    """Whether a gate that the recipe asks for was not checked, and nobody says why."""
    return gate.asked and gate.outcome is Outcome.NOT_CHECKED and gate.name not in unchecked


def passed_over(gates: Iterable[Gate], unchecked: Mapping[str, str]) -> dict[str, str]:
    """The reasons of ``unchecked`` that are needed: those of gates that were not checked."""
    return {
        gate.name: unchecked[gate.name]
        for gate in gates
        if gate.outcome is Outcome.NOT_CHECKED and gate.name in unchecked
    }


def in_words(gate: Gate, unchecked: Mapping[str, str]) -> str:
    """A gate in a few words, e.g. ``replay not checked (no GPU here)``."""
    if gate.outcome is Outcome.PASSED:
        return f"{gate.name} passed" + (f" ({gate.reason})" if gate.reason else "")
    if gate.outcome is Outcome.FAILED:
        return f"{gate.name} failed ({gate.reason})"
    return f"{gate.name} not checked ({unchecked.get(gate.name) or gate.reason})"


def _of_rules(results: list[CheckResult], recipe: Recipe) -> tuple[Outcome, str]:
    findings = [finding for result in results for finding in result.findings]
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        codes = ", ".join(sorted({finding.code for finding in errors}))
        return Outcome.FAILED, f"{len(errors)} error{'s' if len(errors) > 1 else ''} ({codes})"
    missing = [result for result in results if result.outcome is Outcome.NOT_CHECKED]
    waived = [
        f"{waiver.code} ({waiver.reason}, until {waiver.until})"
        for waiver in recipe.waivers
        if any(_is_waived_by(waiver, finding) for finding in findings)
    ]
    said = [f"{len(results) - len(missing)} checks"]
    said += [f"not checked: {_by_reason(missing)}"] if missing else []
    said += [f"waived: {', '.join(waived)}"] if waived else []
    lowered = sorted({each.code for each in findings if _is_lowered(each, recipe)})
    said += [f"errors lowered by the settings: {', '.join(lowered)}"] if lowered else []
    outcome = Outcome.NOT_CHECKED if any(result.required for result in missing) else Outcome.PASSED
    return outcome, "; ".join(said)


def _by_reason(missing: list[CheckResult]) -> str:
    """``B001, B002 (the base draft is not here), R031 (...)``."""
    codes: dict[str, list[str]] = {}
    for result in missing:
        # What follows a semicolon is advice for zoo verify.
        codes.setdefault(result.reason.partition(";")[0], []).append(result.code)
    return ", ".join(f"{', '.join(each)} ({reason})" for reason, each in codes.items())


def _is_waived_by(waiver: Waiver, finding: Finding) -> bool:
    """Whether the finding is a note because of this waiver (``zoo.rules.registry``): one that has expired, or
    that nothing needed, hid nothing."""
    return (
        finding.code == waiver.code
        and finding.severity is Severity.NOTE
        and finding.message.endswith(f"(waived: {waiver.reason})")
    )


def _is_lowered(finding: Finding, recipe: Recipe) -> bool:
    """Whether the finding is no error because of the settings of the zoo, and not because of a waiver."""
    return (
        finding.severity is not Severity.ERROR
        and RULES[finding.code].severity is Severity.ERROR
        and not any(_is_waived_by(waiver, finding) for waiver in recipe.waivers)
    )


def of_evidence(name: str, evidence: Iterable[Evidence], recipe: Recipe) -> tuple[Outcome, str]:
    """What the records of one kind say of its gate, and why. Stale ones and those made with other settings
    than the recipe's do not count."""
    records = [record for record in evidence if record.kind == name]
    stale = {record.name: record.stale or not_asked_for(record, recipe) for record in records}
    counted = [record for record in records if not stale[record.name]]
    for record in counted:
        if record.outcome is Outcome.FAILED:
            return Outcome.FAILED, f"evidence {record.name} says so{_of_gates(record, Outcome.FAILED)}"
    for record in counted:
        if record.outcome is Outcome.PASSED:
            return Outcome.PASSED, _of_gates(record, Outcome.NOT_CHECKED).removeprefix(": ")
    reasons = [f"{each}: {reason}" for each, reason in stale.items() if reason]
    reasons += [
        record.name + (_of_gates(record, Outcome.NOT_CHECKED) or ": not checked") for record in counted
    ]
    return Outcome.NOT_CHECKED, "; ".join(reasons) or no_evidence(name)


def _of_gates(record: Evidence, outcome: Outcome) -> str:
    """Which gates of a record had this outcome, and why: ``: parity not checked (...)``; "" for a record
    without gates."""
    gates = [each for each in record.deciding if each.check.startswith(GATE) and each.outcome is outcome]
    words = str(outcome).replace("_", " ")
    said = "; ".join(f"{each.check.removeprefix(GATE)} {words} ({each.reason})" for each in gates)
    return f": {said}" if said else ""
