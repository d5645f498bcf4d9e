"""Whether the record of a smoke test can be true: its numbers against each other.

A probe judged what it saw; this judges what was kept of it, each time it is read, so that no passed gate
rests on numbers that say otherwise. What the recipe says of it is ``zoo.smoke.answering``. Pure functions: no
server, no torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from zoo.smoke.settings import (
    ACCEPT_LENGTH,
    LOSSLESS,
    PREFLIGHT,
    READY,
    REPETITION,
    REPLAYED,
    SHUTDOWN,
    SPECULATING,
)
from zoo.smoke.tolerance import LEAST, LEAST_FLOAT32, calibrated

Measured = Mapping[str, Any]
_GATE = "gate/"
_GREEDY, _SAMPLED, _TARGET, _CALIBRATION = "served/t0", "served/t1", "target", "lossless/calibration"
# Records keep four digits of a ratio.
_ROUNDING = 1.01e-4
_SIX_DIGITS = 2e-6  # of a gap
_COUNTS = (
    "accept_histogram",
    "verify_steps",
    "correct_drafts",
    "proposed_drafts",
    "accept_length",
    "requests",
)


def contradictions(data: Measured) -> Iterator[str]:
    """What the numbers of a record (as JSON, valid by its schema) say against each other."""
    names = Counter(each["check"] for each in data["results"])
    yield from (f"check {name} is there {count} times" for name, count in names.items() if count > 1)
    said = {each["check"]: each["measured"] for each in data["results"]}
    passed = {each["check"] for each in data["results"] if each["outcome"] == "passed"}
    for check in (_GREEDY, _SAMPLED):
        if check in passed:
            yield from _told(check, partial(_sums, said[check]))
    for name, judge in _JUDGES.items():
        if _GATE + name in passed:
            yield from _told(_GATE + name, partial(judge, said[_GATE + name], said, data))
    if _TARGET in passed and "config_sha256" not in said[_TARGET]:
        yield "check target: passed without config_sha256, so that nobody knows which target it was"


def _told(check: str, judge: Callable[[], Iterator[str]]) -> Iterator[str]:
    """What ``judge`` says, or that the numbers are not there that it needs."""
    try:
        messages = list(judge())
    except (KeyError, TypeError, ValueError, IndexError, ZeroDivisionError):
        messages = ["passed without the numbers that it rests on"]
    yield from (f"check {check}: {message}" for message in messages)


def _sums(said: Measured) -> Iterator[str]:
    """The counts of single requests against those of all."""
    if "verify_steps" not in said:  # no answer was long enough for a step
        return
    for each, total in (("request_steps", "verify_steps"), ("request_correct", "correct_drafts")):
        if len(said[each]) != said["requests"] or sum(said[each]) != said[total]:
            yield f"{each} of {len(said[each])} requests do not add up to {total} {said[total]}"
    if "output_ids" in said and sum(said["output_lengths"]) != len(said["output_ids"]):
        yield f"{len(said['output_ids'])} output_ids, and output_lengths of {sum(said['output_lengths'])}"


def _preflight(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    names, tier = data["host"]["gpus"], data["settings"]["tier"]
    if gate["gpus"] != len(names) or f"{gate['gpus']}gpu" != tier:
        yield f"{gate['gpus']} GPUs, where the host has {len(names)} and the tier is {tier}"


def _ready(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    engine = data["engine"]
    if (gate["engine"], gate["version"]) != (engine["name"], engine["version"]):
        ran = f"{engine['name']} {engine['version']}"
        yield f"{gate['engine']} {gate['version']} was ready, and the engine is {ran}"


def _speculating(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    """An answer of one token needs no verify step, and may be without counts."""
    steps = [*said[_GREEDY]["request_steps"], *said.get(_SAMPLED, {}).get("request_steps", [])]
    if gate["requests"] != len(steps):
        yield f"{gate['requests']} requests, and {len(steps)} were served"
    stepped = sum(map(bool, steps))
    if not stepped <= gate["with_counts"] <= len(steps):
        yield f"{gate['with_counts']} with counts, and {stepped} of {len(steps)} have verify steps"


def _accept_length(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    if _GREEDY not in said or _TARGET not in said:
        missing = _GREEDY if _GREEDY not in said else _TARGET
        yield f"passed, and there is no {missing} that it rests on"
        return
    yield from _differences(gate, said[_GREEDY], _COUNTS)
    length = 1 + gate["correct_drafts"] / gate["verify_steps"]
    if length - 1 < data["settings"]["floor"]:
        yield f"passed with {length - 1:.2f} above 1, and the floor is {data['settings']['floor']:g}"


def _repetition(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    yield from _differences({"requests": gate["answers"]}, said[_GREEDY], ("requests",))
    share = gate["looping"] / gate["answers"]
    if abs(share - gate["share"]) > _ROUNDING:
        yield f"share is {gate['share']:g}, but {gate['looping']} of {gate['answers']} is {share:.4f}"
    if share > data["settings"]["looping"]:
        yield f"passed with {share:.0%} looping answers, {data['settings']['looping']:.0%} may"


def _replayed(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    settings = data["settings"]
    yield from _differences(gate, said[_GREEDY], ("accept_length", "verify_steps", "correct_drafts"))
    served = 1 + gate["correct_drafts"] / gate["verify_steps"]
    theirs = 1 + gate["replayed_correct"] / gate["replayed_steps"]
    change = served / theirs - 1
    if abs(theirs - gate["replayed_accept_length"]) > _ROUNDING:
        yield f"replayed_accept_length is {gate['replayed_accept_length']:g}, its counts give {theirs:.4f}"
    if abs(change - gate["change"]) > _ROUNDING:
        yield f"change is {gate['change']:+g}, but {served:.4f} to {theirs:.4f} is {change:+.4f}"
    if max(abs(change), gate["noise"]) > settings["replay_margin"] + _ROUNDING:
        seen = f"a change of {change:+.1%} and noise of {gate['noise']:.1%}"
        yield f"passed with {seen}, and the margin is {settings['replay_margin']:.1%}"
    worst = max(map(abs, gate["positions"]))
    if worst > settings["position_margin"] + _ROUNDING:
        margin = settings["position_margin"]
        yield f"passed with a position that differs by {worst:g}, and the margin is {margin:g}"
    known = "accept_histogram" in said[_GREEDY]  # else a block was longer than the recipe's
    if known and len(gate["positions"]) != len(said[_GREEDY]["by_position"]):
        yield f"{len(gate['positions'])} positions, and {len(said[_GREEDY]['by_position'])} were served"


def _lossless(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    stated, own = data["settings"]["tolerance"], said[_CALIBRATION]
    tolerance = calibrated(own["least"], own["largest_gap"]) if stated == "calibrated" else stated
    if abs(gate["tolerance"] - tolerance) > _SIX_DIGITS or own["least"] not in (LEAST, LEAST_FLOAT32):
        yield f"tolerance is {gate['tolerance']:g}, and that of settings and calibration is {tolerance:g}"
    if gate["target_largest_gap"] != own["largest_gap"]:
        told = gate["target_largest_gap"]
        yield f"target_largest_gap is {told:g}, and was {own['largest_gap']:g} calibrated"
    for key in ("largest_gap", "target_largest_gap"):
        if gate[key] > gate["tolerance"]:
            yield f"passed with {key} {gate[key]:g}, and the tolerance is {gate['tolerance']:g}"
    served = len(said[_GREEDY]["output_ids"])
    if gate["tokens"] != served:
        yield f"{gate['tokens']} tokens were put through the target, {served} were served"


def _shutdown(gate: Measured, said: Mapping[str, Measured], data: Measured) -> Iterator[str]:
    if gate["forced"] is not False:
        yield "passed, and the server had to be killed"


_JUDGES: Mapping[str, Callable[[Measured, Mapping[str, Measured], Measured], Iterator[str]]] = {
    PREFLIGHT: _preflight,
    READY: _ready,
    SPECULATING: _speculating,
    ACCEPT_LENGTH: _accept_length,
    REPETITION: _repetition,
    REPLAYED: _replayed,
    LOSSLESS: _lossless,
    SHUTDOWN: _shutdown,
}


def _differences(gate: Measured, served: Measured, keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        if gate.get(key) != served.get(key):
            yield f"{key} is {gate.get(key)}, and {_GREEDY} has {served.get(key)}"
