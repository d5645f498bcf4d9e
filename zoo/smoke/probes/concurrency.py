"""Whether requests that run together all complete, and have as much accepted as alone.

Tokens per second are reported as they were seen from here; they prove nothing, and a small target is bound by
launch overhead. A benchmark is another thing.
"""

from __future__ import annotations

from typing import Any

from zoo.evidence import Result
from zoo.smoke.client import Answer
from zoo.smoke.counts import ServedCounts, difference, pooled
from zoo.smoke.probes.verdicts import failed, not_checked, passed, short
from zoo.smoke.served import Absent, Refused, Served, Wave
from zoo.smoke.settings import CONCURRENCY

# How much of the accept length may be lost to running together.
_DROP = 0.05
# With more noise than this nothing can be told.
_NOISY = 0.15


def judge(served: Served) -> Result:
    if isinstance(served.waves, Absent):
        return not_checked(CONCURRENCY, served.waves)
    if not served.waves:
        return not_checked(CONCURRENCY, "no wave ran")
    alone, said, problems, unsure = served.waves[0], dict[str, Any](), list[str](), list[str]()
    for wave in served.waves:
        name = f"c{wave.concurrency}"
        said |= {
            f"{name}/requests": len(wave.answers),
            f"{name}/accept_length": short(_counts(wave).accept_length),
            f"{name}/verify_steps": _counts(wave).verify_steps,
            f"{name}/correct_drafts": _counts(wave).correct_drafts,
            f"{name}/tokens_per_second": round(wave.tokens_per_second, 1),
        }
        incomplete = _incomplete(wave)
        problems += [f"at {wave.concurrency} at once: {incomplete}"] if incomplete else []
    if problems:
        return failed(CONCURRENCY, problems, said)
    if not all(_counts(wave).verify_steps for wave in served.waves):
        return not_checked(CONCURRENCY, "the server counted no verify step", said)
    for wave in served.waves[1:]:
        lost, noise = _lost(alone, wave)
        said[f"c{wave.concurrency}/lost"], said[f"c{wave.concurrency}/noise"] = short(lost), short(noise)
        if lost > _DROP and lost > noise:
            problems.append(f"at {wave.concurrency} at once accept length is {lost:.1%} lower than alone")
        elif noise > _NOISY:
            unsure.append(f"at {wave.concurrency} at once the noise is {noise:.0%}")
    if problems:
        return failed(CONCURRENCY, problems, said)
    if unsure:
        return not_checked(CONCURRENCY, f"{'; '.join(unsure)}: more prompts or tokens are needed", said)
    return passed(CONCURRENCY, said)


def _incomplete(wave: Wave) -> str:
    """What is wrong with the answers; "" if each ended by itself or has the length that was asked for."""
    refused = [answer for answer in wave.answers if isinstance(answer, Refused)]
    if refused:
        return f"{len(refused)} of {len(wave.answers)} requests failed: {refused[0].status} {refused[0].said}"
    short_ones = [
        answer for answer in wave.served if len(answer.output_ids) != wave.asked and answer.finish != "stop"
    ]
    if short_ones:
        got = len(short_ones[0].output_ids)
        return f"{len(short_ones)} of {len(wave.answers)} answers have {got} tokens, not {wave.asked}"
    return ""


def _counts(wave: Wave) -> ServedCounts:
    return pooled(answer.counts for answer in wave.served)


def _lost(alone: Wave, wave: Wave) -> tuple[float, float]:
    """The part of the accept length that is lost, and its noise. The texts of a bf16 target differ with the
    batch, so that there is noise at temperature 0 too."""
    found = difference(_pairs(alone.served), _pairs(wave.served))
    length = _counts(alone).accept_length
    return found.value / length, found.noise / length


def _pairs(answers: tuple[Answer, ...]) -> list[tuple[int, int]]:
    return [
        (answer.counts.correct_drafts, answer.counts.verify_steps) if answer.counts else (0, 0)
        for answer in answers
    ]
