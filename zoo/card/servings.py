"""What a card says of a draft that was served: what ran where, accept length by position, what was found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zoo.card.markdown import Markdown, code, inline
from zoo.engines.hazards import ENGINE_NAMES
from zoo.evidence import GATE, Evidence, Result
from zoo.results import Outcome
from zoo.smoke.settings import CONCURRENCY, REFERENCE
from zoo.smoke.words import TITLES, found, waves

_OUTCOMES = {Outcome.PASSED: "passed", Outcome.FAILED: "**failed**", Outcome.NOT_CHECKED: "not checked"}
_CAUGHT = {Outcome.PASSED: "seen", Outcome.FAILED: "**not seen**", Outcome.NOT_CHECKED: "not checked"}
_SERVED, _CONTROL = "served/", "control/"


def servings(evidence: tuple[Evidence, ...]) -> list[dict[str, Any]]:
    """The smoke tests that count for this checkpoint, each with its tables."""
    return [_serving(record) for record in evidence if record.kind == "smoke" and not record.stale]


def _serving(record: Evidence) -> dict[str, Any]:
    lengths = [_length(each) for each in record.results if _is_length(each)]
    return {
        "title": _title(record),
        "reference": record.subject == REFERENCE,
        "name": code(record.name),
        "by": inline(record.by),
        "tier": record.settings.get("tier", ""),
        "driver": record.host.get("driver", ""),
        "extra": record.settings.get("extra", ""),
        "count": record.inputs.get("count", ""),
        "tokens": record.settings.get("max_new_tokens", ""),
        "date": record.ended[:10],
        "positions": list(range(1, 1 + max((len(each["by_position"]) for each in lengths), default=0))),
        "lengths": lengths,
        "waves": list(_waves(record)),
        "probes": [_probe(each) for each in record.results if each.check.startswith(GATE)],
        "controls": [_control(each) for each in record.results if each.check.startswith(_CONTROL)],
        "phases": _phases(record),
    }


def _title(record: Evidence) -> str:
    """Exactly what ran, on exactly what."""
    if record.subject == REFERENCE:
        return f"Served by the reference engine of draft-zoo on a CPU ({record.host.get('cpu', 'unknown')})"
    engine = f"{ENGINE_NAMES.get(record.engine.name, record.engine.name)} {record.engine.version}"
    gpus = record.host["gpus"]
    if not gpus:
        return f"Served by {engine} on hardware that nobody looked at"
    kinds = " and ".join(f"{gpus.count(each)} x {each}" for each in dict.fromkeys(gpus))
    return f"Served by {engine} on {kinds}"


def _is_length(result: Result) -> bool:
    return result.check.startswith(_SERVED) and {"accept_length", "by_position"} <= set(result.measured)


def _length(result: Result) -> dict[str, Any]:
    said = result.measured
    return {
        "temperature": f"{said['temperature']:g}" if "temperature" in said else "",
        "accept_length": f"{said['accept_length']:.2f}",
        "median": f"{said['median_accept_length']:.2f}" if "median_accept_length" in said else "",
        "correct": said.get("correct_drafts", ""),
        "steps": said.get("verify_steps", ""),
        "by_position": [f"{share:.2f}" for share in said["by_position"]],
    }


def _waves(record: Evidence) -> Iterator[dict[str, Any]]:
    for result in record.results:
        if result.check == GATE + CONCURRENCY:
            for at, said in waves(result.measured).items():
                yield {
                    "at": at,
                    "requests": said.get("requests", ""),
                    "accept_length": f"{said['accept_length']:.2f}" if "accept_length" in said else "",
                }


def _probe(result: Result) -> dict[str, Any]:
    name = result.check.removeprefix(GATE)
    return {
        "probe": TITLES.get(name, name),
        "outcome": Markdown(_OUTCOMES[result.outcome]),
        "found": found(result),
    }


def _control(result: Result) -> dict[str, Any]:
    said = result.measured
    by = f"by {said['caught_by']}" if said.get("caught_by") else ""
    length = f"{said['accept_length']:.2f}" if "accept_length" in said else ""
    return {
        "control": result.check.removeprefix(_CONTROL),
        "outcome": Markdown(_CAUGHT[result.outcome]),
        "accept_length": length,
        "found": result.reason or by,
    }


def _phases(record: Evidence) -> str:
    said = next((each.measured for each in record.results if each.check == "phases"), {})
    return ", ".join(f"{name} {seconds:g} s" for name, seconds in said.items() if seconds >= 1)
