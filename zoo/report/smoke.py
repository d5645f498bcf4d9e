"""A smoke test as text and as JSON. The results are those of a record of evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from zoo.evidence import GATE
from zoo.printable import printable
from zoo.results import Outcome
from zoo.smoke.words import found

if TYPE_CHECKING:
    from zoo.evidence import Evidence, Result

SCHEMA = "zoo-smoke/1"
CONTROL = "control/"
_CAUGHT = {Outcome.PASSED: "caught", Outcome.FAILED: "NOT CAUGHT", Outcome.NOT_CHECKED: "not checked"}


def outcome_of(results: Sequence[Result], required: Sequence[str]) -> int:
    """The exit status: 1 where a probe fails, 2 where a required one was not checked."""
    gates = {each.check.removeprefix(GATE): each.outcome for each in results if each.check.startswith(GATE)}
    controls = [each.outcome for each in results if each.check.startswith(CONTROL)]
    if Outcome.FAILED in (*gates.values(), *controls):
        return 1
    missing = any(gates.get(name) is not Outcome.PASSED for name in required)
    return 2 if missing or Outcome.NOT_CHECKED in controls else 0


def outcome_of_control(results: Sequence[Result]) -> int:
    """The exit status of a run that serves a draft which was broken on purpose: 0 where a probe named it."""
    return 0 if any(each.outcome is Outcome.FAILED for each in results if each.check.startswith(GATE)) else 1


def document(recipe: str, record: Evidence, control: str, status: int) -> dict[str, Any]:
    """The JSON of ``zoo smoke --format json``: the record as evidence/1, and what the command makes of it."""
    return {
        "schema": SCHEMA,
        "recipe": recipe,
        "control": control,
        "record": record.as_json(),
        "exit": status,
    }


def attached(recipe: str, url: str, results: Sequence[Result], status: int) -> dict[str, Any]:
    """The JSON of ``zoo smoke --attach``: no record, since nobody knows what the server has read."""
    said = [
        {
            "check": each.check,
            "outcome": str(each.outcome),
            "reason": each.reason,
            "measured": dict(each.measured),
        }
        for each in results
    ]
    return {"schema": SCHEMA, "recipe": recipe, "attached": url, "results": said, "exit": status}


def render(heading: str, results: Sequence[Result]) -> str:
    """Tables for a person: what was accepted, each probe with its reason, how long it took."""
    blocks = [printable(heading, keep="")]
    for lines in (_lengths(results), _probes(results), _controls(results)):
        made = list(lines)
        if len(made) > 1:
            blocks.append("\n".join(made))
    blocks += [f"phases: {each}" for each in _phases(results)]
    return "\n\n".join(blocks)


def verdict(results: Sequence[Result], required: Sequence[str], status: int) -> str:
    """One line: how many probes passed, failed, were not checked."""
    outcomes = [each.outcome for each in results if each.check.startswith(GATE)]
    counted = {kind: outcomes.count(kind) for kind in Outcome}
    missing = [
        each.check.removeprefix(GATE)
        for each in results
        if each.outcome is Outcome.NOT_CHECKED and each.check.removeprefix(GATE) in required
    ]
    word = {0: "ok", 1: "failed", 2: "not checked"}[status]
    said = f"{word}  {counted[Outcome.PASSED]} probes passed, {counted[Outcome.FAILED]} failed, "
    said += f"{counted[Outcome.NOT_CHECKED]} not checked"
    return said + (f" (the recipe requires: {', '.join(missing)})" if missing else "")


def _lengths(results: Sequence[Result]) -> Iterator[str]:
    yield f"{'':12} {'accept length':>13}  {'median':>6}  {'steps':>6}  share of steps that accept 1, 2, ..."
    for each in results:
        if each.check.startswith("served/") and "accept_length" in each.measured:
            said = each.measured
            shares = " ".join(f"{share:.2f}".removeprefix("0") for share in said["by_position"])
            yield (
                f"{'T=' + format(said['temperature'], 'g'):12} {said['accept_length']:13.3f}  "
                f"{said['median_accept_length']:6.2f}  {said['verify_steps']:6,}  {shares}"
            )


def _probes(results: Sequence[Result]) -> Iterator[str]:
    yield "probe"
    for each in results:
        if each.check.startswith(GATE):
            words = str(each.outcome).replace("_", " ")
            said = printable(found(each), keep="")
            yield f"  {each.check.removeprefix(GATE):14} {words:12} {said}".rstrip()


def _controls(results: Sequence[Result]) -> Iterator[str]:
    yield "negative control"
    for each in results:
        if each.check.startswith(CONTROL):
            words = _CAUGHT[each.outcome]
            said = printable(each.reason, keep="") or f"by {each.measured.get('caught_by', '')}"
            yield f"  {each.check.removeprefix(CONTROL):14} {words:12} {said}".rstrip()


def _phases(results: Sequence[Result]) -> Iterator[str]:
    for each in results:
        if each.check == "phases":
            yield ", ".join(f"{name} {seconds:g} s" for name, seconds in each.measured.items())
