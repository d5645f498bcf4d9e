"""A replay as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.printable import printable
from zoo.results import Outcome

if TYPE_CHECKING:
    from zoo.evidence import Result
    from zoo.replay.settings import ReplaySettings
    from zoo.replay.trace import Trace

SCHEMA = "zoo-replay/1"


def outcome_of(results: Sequence[Result], settings: ReplaySettings) -> int:
    """The exit status: 1 where a gate fails, 2 where a required one was not checked."""
    gates = {each.check.removeprefix("gate/"): each.outcome for each in results if _is(each, "gate")}
    if Outcome.FAILED in gates.values():
        return 1
    return 0 if all(gates.get(each) is Outcome.PASSED for each in settings.require) else 2


def document(
    source: str, trace: Trace, settings: ReplaySettings, results: Sequence[Result], status: int
) -> dict[str, Any]:
    """The JSON of ``zoo replay --format json``. Results are as in a record of evidence."""
    return {
        "schema": SCHEMA,
        "draft": source,
        "trace": {"name": trace.name, "digest": trace.digest},
        "settings": settings.as_json(),
        "results": [
            {
                "check": each.check,
                "outcome": str(each.outcome),
                "reason": each.reason,
                "measured": dict(each.measured),
            }
            for each in results
        ],
        "exit": status,
    }


def render(source: str, trace: Trace, results: Sequence[Result]) -> str:
    """Tables for a person: accept lengths by position, variants and controls, gates."""
    blocks = [f"{printable(source)} on trace {printable(trace.name)}"]
    for lines in (_lengths(results), _variants(results), _controls(results), _gates(results)):
        made = list(lines)
        if len(made) > 1:
            blocks.append("\n".join(made))
    return "\n\n".join(blocks)


def _lengths(results: Sequence[Result]) -> Iterator[str]:
    yield f"{'':24} {'accept length':>13}  {'95%':11}  {'steps':>6}  share of steps that accept 1, 2, ..."
    for each in results:
        if not (_is(each, "domain") or _is(each, "engine")):
            continue
        said = each.measured
        name = said.get("reading", said["domain"] + (" (main)" if said.get("main") else ""))
        if each.outcome is not Outcome.PASSED:
            yield f"{printable(name):24} {each.reason}"
            continue
        ends = said.get("interval")
        interval = f"{ends[0]:.2f}-{ends[1]:.2f}" if ends else ""
        shares = " ".join(f"{share:.2f}".removeprefix("0") for share in said["by_position"])
        same = "  as its trainer" if said.get("as_its_trainer") else ""
        yield (
            f"{printable(name):24} {said['accept_length']:13.3f}  {interval:11}  "
            f"{said['verify_steps']:6,}  {shares}{same}"
        )
        if _is(each, "domain"):
            yield f"{'':24} at every anchor {said['every_anchor_accept_length']:.3f}; {_expected(said)}"


def _expected(said: Mapping[str, Any]) -> str:
    """What is known of sampling: its expectation on a sampled record, bounds along a greedy one."""
    if "expected_accept_length" not in said:
        return "nothing is known of sampling: no final states, or the temperature is not known"
    low, high = said["expected_accept_length"]
    if said["temperature"]:
        return f"expected at temperature {said['temperature']:g}: {low:.3f}"
    return f"sampling at temperature 1 along this greedy text: {low:.2f} to {high:.2f}"


def _variants(results: Sequence[Result]) -> Iterator[str]:
    yield f"{'neighbour':50} {'change':>7}  {'95%':19}  verdict"
    for each in results:
        if not _is(each, "variant"):
            continue
        said = each.measured
        if each.outcome is Outcome.NOT_CHECKED:
            yield f"{said['what']:50} not checked: {printable(each.reason)}"
            continue
        low, high = said["interval"]
        interval = f"{low:+.1%} to {high:+.1%}"
        yield f"{said['what']:50} {said['change']:+7.1%}  {interval:19}  {said['verdict']}"


def _controls(results: Sequence[Result]) -> Iterator[str]:
    yield f"{'negative control':50}  keeps"
    for each in results:
        if _is(each, "control"):
            yield f"{each.measured['what']:50} {each.measured['share']:6.1%}  {each.outcome}"


def _gates(results: Sequence[Result]) -> Iterator[str]:
    yield "gate"
    for each in results:
        if _is(each, "gate"):
            words = str(each.outcome).replace("_", " ")
            yield f"  {each.check.removeprefix('gate/'):18} {words:12} {printable(each.reason)}".rstrip()


def _is(result: Result, kind: str) -> bool:
    return result.check.startswith(f"{kind}/")
