"""What a replay must show, as results with an outcome: four gates, and the measurements they rest on.

Accept length - 1 is what a draft gains, so margins and shares are parts of it. Comparisons are paired by
conversation and count a step at every anchor, which has less noise than a walk; parity with training counts
the walk, because that is what a training run measures. docs/replay.md says what each gate can and cannot see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoo.evidence import Result
from zoo.replay.acceptance import pooled
from zoo.replay.run import Row
from zoo.replay.settings import CONTROLS, NOT_WORSE, OPTIMUM, PARITY, ReplaySettings
from zoo.replay.statistics import Paired, adjusted, paired, ratio_interval
from zoo.replay.variants import Variant
from zoo.results import Outcome

# A variant, and what it gave; None where it could not be run.
Tried = tuple[Variant, Sequence[Row] | None]
BETTER, WORSE, NOISE = "better", "not better", "below the noise"


def measured(check: str, rows: Sequence[Row], conditions: Mapping[str, Any]) -> Result:
    """The walk and every anchor of some conversations: pooled, and per conversation in the order of the
    trace. ``conditions`` say what was measured (domain, temperature)."""
    walk, every = pooled(row.walk for row in rows), pooled(row.every for row in rows)
    if not walk.steps:
        return Result(check, Outcome.NOT_CHECKED, "no conversation has a verify step", dict(conditions))
    said: dict[str, Any] = {
        **conditions,
        "conversations": len(rows),
        "accept_histogram": list(walk.histogram),
        "verify_steps": walk.steps,
        "correct_drafts": walk.correct,
        "accept_length": _short(walk.accept_length),
        "by_position": [_short(share) for share in walk.by_position],
        "whole_block": _short(walk.by_position[-1]),
        "every_anchor_histogram": list(every.histogram),
        "every_anchor_accept_length": _short(every.accept_length),
        "conversation_steps": [row.walk.steps for row in rows],
        "conversation_correct": [row.walk.correct for row in rows],
        "conversation_anchors": [row.every.steps for row in rows],
        "conversation_accepted": [row.every.correct for row in rows],
    }
    interval = ratio_interval(said["conversation_correct"], said["conversation_steps"])
    if interval is not None:
        said["interval"] = [_short(1 + end) for end in interval]
    sampled = every.expected_accept_length
    if sampled is not None:
        said["expected_accept_length"] = [_short(end) for end in sampled]
    return Result(check, Outcome.PASSED, "", said)


def parity(
    rows: Sequence[Row],
    temperature: float | None,
    training: Mapping[str, Any] | None,
    settings: ReplaySettings,
) -> Result:
    """The walk against the training run's own held-out number (``held_out`` of its manifest)."""
    held_out = (training or {}).get("held_out")
    if held_out is None:
        return _missing(PARITY, "no training manifest states a held-out accept length")
    if held_out["temperature"] != temperature:
        drawn = "unknown" if temperature is None else f"{temperature:g}"
        return _missing(
            PARITY,
            f"the training run measured at temperature {held_out['temperature']:g}, the trace has {drawn}",
        )
    few = _too_few(rows, settings)
    if few:
        return _missing(PARITY, few)
    walk = pooled(row.walk for row in rows)
    gain, theirs = walk.accept_length - 1, held_out["accept_length"] - 1
    least = theirs * (1 - settings.parity_margin)
    interval = ratio_interval([row.walk.correct for row in rows], [row.walk.steps for row in rows])
    said = {"accept_length": _short(walk.accept_length), "training_accept_length": held_out["accept_length"]}
    words = f"accept length {walk.accept_length:.2f}, {held_out['accept_length']:.2f} in training"
    if gain >= least:
        return Result(f"gate/{PARITY}", Outcome.PASSED, "", said)
    if interval is not None and interval[1] >= least:
        return _missing(PARITY, f"{words}: below it, but within the noise; record more conversations", said)
    return Result(f"gate/{PARITY}", Outcome.FAILED, words, said)


def not_worse(
    rows: Sequence[Row], others: Sequence[Row] | None, absent: str, settings: ReplaySettings
) -> Result:
    """Whether the draft is not worse than ``others``, those of its base or previous release, by more than the
    margin. ``absent`` says why there are none."""
    if others is None:
        return _missing(NOT_WORSE, absent)
    few = _too_few(rows, settings)
    if few:
        return _missing(NOT_WORSE, few)
    theirs, ours = _gains(others, rows)
    if not sum(theirs):
        return Result(f"gate/{NOT_WORSE}", Outcome.PASSED, "", {"base_accept_length": 1})
    found = paired(theirs, ours, -settings.worse_margin)
    said = _numbers(found) | {
        "base_accept_length": _short(1 + sum(theirs) / len(theirs)),
        "base_conversation_anchors": [row.every.steps for row in others],
        "base_conversation_accepted": [row.every.correct for row in others],
    }
    words = f"{_change(found)} of accept length - 1 against the base"
    if found.p_above < settings.alpha:
        return Result(f"gate/{NOT_WORSE}", Outcome.PASSED, "", said)
    if found.p_below < settings.alpha:
        return Result(f"gate/{NOT_WORSE}", Outcome.FAILED, words, said)
    return _missing(NOT_WORSE, f"{words}: cannot be told; record more conversations", said)


def optimum(rows: Sequence[Row], tried: Sequence[Tried], settings: ReplaySettings) -> list[Result]:
    """One result per neighbour of the declared config, and the gate: none of them is better, and at least one
    is told to be worse."""
    few = _too_few(rows, settings)
    gain = sum(row.accepted for row in rows)
    if few or not gain:
        return [_missing(OPTIMUM, few or "the draft has nothing accepted")]
    compared = {
        variant.name: paired(*_gains(rows, found), settings.optimum_margin)
        for variant, found in tried
        if found is not None
    }
    corrected = dict(zip(compared, adjusted([each.p_above for each in compared.values()]), strict=True))
    results = []
    for variant, _ in tried:
        check = f"variant/{variant.name}"
        about: dict[str, Any] = {"what": variant.what}
        if variant.name not in compared:
            results.append(Result(check, Outcome.NOT_CHECKED, variant.absent, about))
            continue
        each, chance = compared[variant.name], corrected[variant.name]
        verdict = _verdict(each, chance < settings.alpha)
        about |= {**_numbers(each), "verdict": verdict, "p": float(f"{chance:.3g}")}
        better = verdict == BETTER
        reason = f"{variant.what}: {_change(each)} of accept length - 1" if better else ""
        results.append(Result(check, Outcome.FAILED if better else Outcome.PASSED, reason, about))
    failed = [each for each in results if each.outcome is Outcome.FAILED]
    absent = [each for each in results if each.outcome is Outcome.NOT_CHECKED]
    said = {
        "variants": len(compared),
        "not_checked": len(absent),
        "below_the_noise": sum(each.measured.get("verdict") == NOISE for each in results),
    }
    if failed:
        reason = "a neighbour is better: " + "; ".join(each.reason for each in failed)
        return [*results, Result(f"gate/{OPTIMUM}", Outcome.FAILED, reason[:1000], said)]
    if not compared:
        return [*results, _missing(OPTIMUM, "the trace can make no variant", said)]
    if said["below_the_noise"] == len(compared):
        reason = "no neighbour can be told from the declared config; record more conversations"
        return [*results, _missing(OPTIMUM, reason, said)]
    return [*results, Result(f"gate/{OPTIMUM}", Outcome.PASSED, "", said)]


def negative_controls(rows: Sequence[Row], tried: Sequence[Tried], settings: ReplaySettings) -> list[Result]:
    """One result per draft that is known to be dead, and the gate: each has lost what the draft gains."""
    gain = pooled(row.every for row in rows).accept_length - 1
    results, alive = [], []
    for variant, found in tried:
        assert found is not None
        left = pooled(row.every for row in found).accept_length - 1
        share = left / gain if gain else 1.0
        dead = share < settings.control_share
        reason = "" if dead else f"{variant.what}: keeps {share:.0%} of accept length - 1"
        alive += [] if dead else [reason]
        said = {"what": variant.what, "share": _short(share), "every_anchor_accept_length": _short(1 + left)}
        outcome = Outcome.PASSED if dead else Outcome.FAILED
        results.append(Result(f"control/{variant.name}", outcome, reason, said))
    if alive:
        reason = "this replay cannot tell a dead draft: " + "; ".join(alive)
        return [*results, Result(f"gate/{CONTROLS}", Outcome.FAILED, reason, {})]
    return [*results, Result(f"gate/{CONTROLS}", Outcome.PASSED, "", {"controls": len(results)})]


def _verdict(found: Paired, better: bool) -> str:
    if better:
        return BETTER
    return WORSE if found.high < 0 else NOISE


def _gains(ours: Sequence[Row], others: Sequence[Row]) -> tuple[list[float], list[float]]:
    """Accepted proposals per step of the conversations in which both have steps."""
    both = [pair for pair in zip(ours, others, strict=True) if all(row.every.steps for row in pair)]
    return [mine.accepted for mine, _ in both], [other.accepted for _, other in both]


def _too_few(rows: Sequence[Row], settings: ReplaySettings) -> str:
    number = sum(bool(row.every.steps) for row in rows)
    least = max(2, settings.conversations)
    return f"{number} conversations, and {least} are needed" if number < least else ""


def _missing(gate: str, reason: str, said: Mapping[str, Any] | None = None) -> Result:
    return Result(f"gate/{gate}", Outcome.NOT_CHECKED, reason, said or {})


def _numbers(found: Paired) -> dict[str, Any]:
    return {"change": _short(found.change), "interval": [_short(found.low), _short(found.high)]}


def _change(found: Paired) -> str:
    return f"{found.change:+.1%} ({found.low:+.1%} to {found.high:+.1%})"


def _short(value: float) -> float:
    """Digits that a person or a later comparison can use; the counts beside it are exact."""
    return round(value, 4)
