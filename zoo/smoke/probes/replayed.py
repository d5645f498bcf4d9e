"""Served = replayed: what the server accepted, against what this draft has accepted in a replay over the very
tokens that were served.

Both walk the same text with the same draft, so that only rounding may differ. Shifted aux layers, another
rope or a reordered fc cost 7 to 20% of what a draft gains, pass every floor, and show here.

Two comparisons, both paired by request: the accept length, within ``replay_margin`` of it, and P(accept >= k)
of each position k, within ``position_margin``. Where the requests are too few to tell, the probe says how
many verify steps it needs, and does not toss a coin.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import Any

from zoo.evidence import Result
from zoo.replay.acceptance import Counts
from zoo.smoke.client import Answer
from zoo.smoke.counts import Difference, ServedCounts, difference, pooled
from zoo.smoke.probes.verdicts import failed, not_checked, passed, proposals_of, short
from zoo.smoke.replayed import Replayed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import REPLAYED

# A margin must be worth so many verify steps: else one or two proposals that rounding turns decide.
_STEPS_IN_MARGIN = 5
# Served greedy tokens are the target's first choice but for near ties (SmolLM2-135M in bf16: about 1 in 100).
_SAME_TARGET = 0.9
_NONE = ServedCounts((), 0, 0, 0)


def judge(served: Served) -> Result:
    if isinstance(served.greedy, Absent):
        return not_checked(REPLAYED, served.greedy)
    if not isinstance(served.replayed, Replayed):
        return not_checked(REPLAYED, served.replayed.reason)
    requests = served.replayed.requests
    if len(requests) != len(served.greedy):
        reason = f"{len(requests)} requests were replayed, and {len(served.greedy)} were served"
        return not_checked(REPLAYED, reason)
    agreed = served.replayed.agreed / served.replayed.tokens if served.replayed.tokens else 0.0
    if agreed < _SAME_TARGET:
        return not_checked(
            REPLAYED,
            f"only {agreed:.0%} of the served tokens are the first choice of the target that was replayed: "
            "the server runs another target",
            {"agreed": short(agreed)},
        )
    return _compare(served, served.greedy, requests, agreed)


def _compare(served: Served, answers: Sequence[Answer], requests: Sequence[Counts], agreed: float) -> Result:
    ours = [answer.counts or _NONE for answer in answers]
    steps = min(pooled(ours).verify_steps, sum(each.steps for each in requests))
    needed = ceil(_STEPS_IN_MARGIN / served.settings.position_margin)
    if steps < needed:
        return not_checked(
            REPLAYED,
            f"{steps} verify steps are too few to compare, {needed} are needed: more prompts or tokens",
        )
    proposed = proposals_of(served) or max(len(each.histogram) for each in requests) - 1
    length = difference(
        [(each.correct_drafts, each.verify_steps) for each in ours],
        [(each.correct, each.steps) for each in requests],
    )
    positions = [
        difference(
            [(each.at_least(k), each.verify_steps) for each in ours],
            [(sum(each.histogram[k:]), each.steps) for each in requests],
        )
        for k in range(1, proposed + 1)
    ]
    theirs = 1 + sum(each.correct for each in requests) / sum(each.steps for each in requests)
    said = {
        "accept_length": short(pooled(ours).accept_length),
        "replayed_accept_length": short(theirs),
        "change": short(length.value / theirs),
        "noise": short(length.noise / theirs) if isfinite(length.noise) else 1.0,
        "positions": [short(each.value) for each in positions],
        "verify_steps": pooled(ours).verify_steps,
        "correct_drafts": pooled(ours).correct_drafts,
        "replayed_steps": sum(each.steps for each in requests),
        "replayed_correct": sum(each.correct for each in requests),
        "agreed": short(agreed),
    }
    margin = served.settings.replay_margin * theirs
    return _verdict(length, margin, positions, served.settings.position_margin, steps, said)


def _verdict(
    length: Difference,
    margin: float,
    positions: Sequence[Difference],
    position_margin: float,
    steps: int,
    said: dict[str, Any],
) -> Result:
    """``margin`` in accept length; ``steps`` that there were."""
    problems, unsure = [], [length.noise / margin] if length.noise > margin else []
    if abs(length.value) > margin and abs(length.value) > length.noise:
        problems.append(
            f"accept length {said['accept_length']:.2f} served, {said['replayed_accept_length']:.2f} "
            f"replayed over the same tokens: {said['change']:+.1%}"
        )
    out = [(k, each) for k, each in enumerate(positions, start=1) if abs(each.value) > position_margin]
    sure = [(k, each) for k, each in out if abs(each.value) > each.noise]
    if sure:
        k, each = max(sure, key=lambda found: abs(found[1].value))
        problems.append(
            f"P(accept >= {k}) differs by {each.value:+.3f} from the replay's (out of the margin of "
            f"{position_margin:g}: positions {', '.join(str(k) for k, _ in sure)})"
        )
    if problems:
        return failed(REPLAYED, problems, said)
    unsure += [each.noise / position_margin for _, each in out]
    if unsure:
        factor = max(unsure)
        needed = f"about {ceil(steps * factor**2)}" if isfinite(factor) else "two requests or more"
        return not_checked(
            REPLAYED, f"the noise is larger than the margin: {steps} verify steps, {needed} are needed", said
        )
    return passed(REPLAYED, said)
