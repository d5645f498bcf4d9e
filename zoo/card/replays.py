"""What a card says of a replay: accept length by position, and what each gate found."""

from __future__ import annotations

from typing import Any

from zoo.card.markdown import Markdown
from zoo.card.plots import Plot, replays_of
from zoo.evidence import GATE, Evidence, Result
from zoo.results import Outcome

_TITLES = {
    "parity": "Parity with training",
    "not-worse": "Not worse than the base",
    "local-optimum": "No neighbour is better",
    "negative-controls": "Dead drafts are seen",
}
_OUTCOMES = {Outcome.PASSED: "passed", Outcome.FAILED: "**failed**", Outcome.NOT_CHECKED: "not checked"}


def replays(evidence: tuple[Evidence, ...], plots: tuple[Plot, ...] = ()) -> list[dict[str, Any]]:
    """The replays that count for this checkpoint, each with its tables and its ``plots``."""
    return [
        {
            "trace": record.subject,
            "count": record.inputs.get("count", ""),
            "positions": list(range(1, 1 + max((len(each["by_position"]) for each in lengths), default=0))),
            "lengths": lengths,
            "gates": [_gate(each) for each in record.deciding if each.check.startswith(GATE)],
            "unseen": _unseen(record),
            "plots": [
                Markdown(f"![{each.title}]({each.path})") for each in plots if each.record == record.name
            ],
        }
        for record in replays_of(evidence)
        for lengths in [[_length(each) for each in record.results if "by_position" in each.measured]]
    ]


def _length(result: Result) -> dict[str, Any]:
    said = result.measured
    drawn = said.get("temperature")
    ends = said.get("interval")
    read_by = said.get("reading", "")
    return {
        "what": str(said.get("domain", "")) + (f", as {read_by} reads the config" if read_by else ""),
        "temperature": "" if drawn is None else f"{drawn:g}",
        "accept_length": f"{said['accept_length']:.2f}",
        "interval": f"{ends[0]:.2f} to {ends[1]:.2f}" if isinstance(ends, list) and len(ends) == 2 else "",
        "steps": said.get("verify_steps", ""),
        "by_position": [f"{share:.2f}" for share in said["by_position"]],
    }


def _gate(result: Result) -> dict[str, Any]:
    name = result.check.removeprefix(GATE)
    return {
        "gate": _TITLES.get(name, name),
        "outcome": Markdown(_OUTCOMES[result.outcome]),
        "found": result.reason or _found(name, result),
    }


def _found(name: str, result: Result) -> str:
    """What a gate that passed has measured."""
    said = result.measured
    if name == "parity":
        return f"{said['accept_length']:.2f} here, {said['training_accept_length']:.2f} in training"
    if name == "not-worse" and "change" in said:
        low, high = said["interval"]
        return f"{said['change']:+.1%} of accept length - 1 ({low:+.1%} to {high:+.1%})"
    if name == "local-optimum":
        return f"{said['variants']} neighbours of the config tried, {said['not_checked']} could not be"
    if name == "negative-controls":
        return f"{said['controls']} drafts that were broken on purpose"
    return ""


def _unseen(record: Evidence) -> str:
    """The neighbours that the replay cannot tell from the declared config."""
    names = [
        str(each.measured["what"])
        for each in record.results
        if each.measured.get("verdict") == "below the noise"
    ]
    return ", ".join(names)
