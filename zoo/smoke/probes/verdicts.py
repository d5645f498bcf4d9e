"""Results of probes, and the numbers that several of them state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zoo.evidence import Result
from zoo.recipe.config import proposals
from zoo.results import Outcome
from zoo.smoke.client import Answer
from zoo.smoke.counts import ServedCounts, median_accept_length, pooled
from zoo.smoke.served import Absent, Served

Numbers = Mapping[str, Any]


def passed(check: str, measured: Numbers, reason: str = "") -> Result:
    """``reason`` where something of the probe was left out."""
    return Result(check, Outcome.PASSED, reason, measured)


def failed(check: str, problems: Sequence[str] | str, measured: Numbers | None = None) -> Result:
    reason = problems if isinstance(problems, str) else "; ".join(problems)
    return Result(check, Outcome.FAILED, reason[:1000], measured or {})


def not_checked(check: str, reason: str | Absent, measured: Numbers | None = None) -> Result:
    text = reason.reason if isinstance(reason, Absent) else reason
    return Result(check, Outcome.NOT_CHECKED, text[:1000], measured or {})


def short(value: float) -> float:
    """Digits that a person or a later comparison can use; the counts beside it are exact."""
    return round(value, 4)


def proposals_of(served: Served) -> int:
    """Draft tokens per verify step, as the recipe says; 0 where it does not."""
    return proposals(served.recipe) or 0


def counted(served: Served, answers: Sequence[Answer]) -> dict[str, Any]:
    """The counts of these answers together and the numbers that follow. A histogram that is longer than the
    recipe's block has another name: it contradicts the recipe (K006), and the block-size probe says so."""
    return numbers(pooled(answer.counts for answer in answers), proposals_of(served)) | {
        "requests": len(answers),
        "median_accept_length": short(median_accept_length(answer.counts for answer in answers)),
    }


def numbers(counts: ServedCounts, proposed: int) -> dict[str, Any]:
    if not counts.verify_steps:
        return {"steps": 0}
    size = max(proposed, len(counts.histogram) - 1)
    name = "accept_histogram" if size == proposed else "longer_histogram"
    honest = not counts.problems()
    said: dict[str, Any] = {name: list(counts.padded(size))} if honest else {}
    return said | {
        "verify_steps": counts.verify_steps,
        "correct_drafts": counts.correct_drafts,
        "proposed_drafts": counts.proposed,
        "accept_length": short(counts.accept_length),
        "by_position": [short(share) for share in counts.by_position(size)],
    }
