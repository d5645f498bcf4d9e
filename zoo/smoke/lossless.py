"""Losslessness: every token that was served with the draft is one that the target alone would give.

Texts cannot be compared. A verify step computes a block of rows and a decode step one, the kernels differ,
and in bf16 near ties turn: a real pair gave the target's own text for 3 of 16 prompts, and was lossless. So
each served text is put through the target once more (teacher forcing, on a server without the draft, since
DFLASH refuses log probabilities before SGLang 0.5.18), and each token must be within a tolerance of the best
one there. That checks every token, whatever path the text took; a wrong position, a stale KV cache or a wrong
acceptance is far outside.

The tolerance is calibrated on the target against itself: its greedy texts, alone and eight at a time, forced
in the same way. A calibration holds for a target revision, a profile and an engine version, and can be used
again for every draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from zoo.digests import canonical_json, sha256_hex
from zoo.evidence import Evidence, Result
from zoo.recipe.model import UNKNOWN, Profile, Recipe
from zoo.results import Outcome
from zoo.smoke.asking import ask, ask_together
from zoo.smoke.client import Answer, Client, RequestRefusedError
from zoo.smoke.served import Absent, Refused
from zoo.smoke.tolerance import LEAST, LEAST_FLOAT32, calibrated

CALIBRATION = "lossless/calibration"
_TOGETHER = 8


@dataclass(frozen=True, slots=True)
class Forced:
    """One text under the target. ``gaps``: of each served token, by how many nats it is below the best one.
    ``first_difference``: where the text leaves that of the target alone, None where it never does (or nobody
    knows the target's)."""

    gaps: tuple[float, ...]
    first_difference: int | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The target against itself: ``prompts`` were answered alone and eight at a time, ``tokens`` in all, the
    worst of them ``largest_gap`` nats below the best. ``identical`` prompts had the same text both times, the
    others parted after ``first_difference`` tokens in the median. ``least``: the tolerance, in nats, that the
    dtype needs at least."""

    prompts: int
    tokens: int
    largest_gap: float
    identical: int
    first_difference: float | None
    least: float = LEAST

    @property
    def tolerance(self) -> float:
        """Nats that a served token may be below the best."""
        return calibrated(self.least, self.largest_gap)


@dataclass(frozen=True, slots=True)
class Losslessness:
    """The served texts under the target. ``alone``: whether the target's own texts are known."""

    calibration: Calibration
    forced: tuple[Forced, ...]
    alone: bool

    @property
    def identical(self) -> int:
        return sum(each.first_difference is None for each in self.forced)

    @property
    def first_difference(self) -> float | None:
        return _median(each.first_difference for each in self.forced)


def calibrate(
    client: Client,
    prompts: Sequence[Sequence[int]],
    max_new_tokens: int,
    told: Callable[[int], None] = lambda count: None,
    *,
    ignore_eos: bool = False,
) -> tuple[Calibration | Absent, tuple[Answer, ...]]:
    """The calibration, and the target's own greedy answers. ``client`` is that of a server without a draft.
    ``ignore_eos``: as the answers that will be compared.

    Raises NoAnswerError, RequestRefusedError.
    """
    alone = ask(client, prompts, max_new_tokens=max_new_tokens, ignore_eos=ignore_eos, told=told)
    together = ask_together(
        client, prompts, max_new_tokens=max_new_tokens, concurrency=_TOGETHER, ignore_eos=ignore_eos
    )
    answered = tuple(answer for answer in together if not isinstance(answer, Refused))
    if len(answered) < len(together):
        return Absent("the target alone did not answer every prompt"), alone
    try:
        gaps = [gap for answer in (*alone, *answered) for gap in force(client, answer)]
    except RequestRefusedError as error:
        return Absent(f"the server without a draft gives no log probabilities: {error.said}"), alone
    if not gaps:
        return Absent("the target alone gave no token"), alone
    differences = [first_difference(a.output_ids, b.output_ids) for a, b in zip(alone, answered, strict=True)]
    calibration = Calibration(
        prompts=len(alone),
        tokens=len(gaps),
        largest_gap=max(gaps),
        identical=differences.count(None),
        first_difference=_median(differences),
        least=LEAST_FLOAT32 if client.server_info().get("dtype") == "float32" else LEAST,
    )
    return calibration, alone


def compare(
    client: Client,
    answers: Iterable[Answer],
    alone: Sequence[Answer] | None,
    calibration: Calibration,
    told: Callable[[int], None] = lambda count: None,
) -> Losslessness:
    """Force the greedy answers of the server with the draft through the target. ``alone``: its own answers to
    the same prompts, None where a calibration was used again.

    Raises NoAnswerError, RequestRefusedError.
    """
    own = {answer.input_ids: answer.output_ids for answer in alone or ()}
    forced: list[Forced] = []
    for answer in answers:
        other = own.get(answer.input_ids)
        parted = None if other is None else first_difference(answer.output_ids, other)
        forced.append(Forced(force(client, answer), parted))
        told(len(forced))
    return Losslessness(calibration, tuple(forced), alone is not None)


def force(client: Client, answer: Answer) -> tuple[float, ...]:
    """Of each token of the answer, by how many nats the target has it below its best one."""
    if not answer.output_ids:
        return ()
    scored = client.forced((*answer.input_ids, *answer.output_ids), len(answer.input_ids))
    return tuple(each.best - each.logprob for each in scored)


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """The first position at which two texts differ, one being longer included; None where they are the
    same."""
    for position, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if mine != other:
            return position
    return None if len(ours) == len(theirs) else min(len(ours), len(theirs))


def calibration_result(calibration: Calibration, profile: Profile) -> Result:
    """As a result of a record, from which :func:`calibration_from` reads it."""
    said: dict[str, Any] = {
        "prompts": calibration.prompts,
        "tokens": calibration.tokens,
        "largest_gap": round(calibration.largest_gap, 6),
        "identical": calibration.identical,
        "least": calibration.least,
        "tolerance": round(calibration.tolerance, 6),
        "profile_sha256": _digest(profile),
    }
    if calibration.first_difference is not None:
        said["median_first_difference"] = calibration.first_difference
    return Result(CALIBRATION, Outcome.PASSED, "", said)


def calibration_from(
    evidence: Evidence, *, recipe: Recipe, profile: Profile, version: str
) -> Calibration | Absent:
    """The calibration of another record, of whatever draft, if it is one of this target, profile and
    engine."""
    result = next((each for each in evidence.results if each.check == CALIBRATION), None)
    if result is None or result.outcome is not Outcome.PASSED:
        return Absent(f"{evidence.name} has no calibration")
    served = recipe.target.served
    if served.revision in (None, UNKNOWN):
        return Absent("the target has no pinned revision, so that no other record is known to be of it")
    if evidence.target != {"repo": served.path, "revision": served.revision}:
        return Absent(f"{evidence.name} is of another target or revision")
    if (evidence.engine.name, evidence.engine.version) != (profile.engine, version):
        return Absent(f"{evidence.name} is of {evidence.engine.name} {evidence.engine.version}")
    said = result.measured
    if said.get("profile_sha256") != _digest(profile):
        return Absent(f"{evidence.name} is of another profile, or of an earlier state of this one")
    try:
        return Calibration(
            int(said["prompts"]),
            int(said["tokens"]),
            float(said["largest_gap"]),
            int(said["identical"]),
            said.get("median_first_difference"),
            float(said["least"]),
        )
    except (KeyError, TypeError, ValueError):
        return Absent(f"{evidence.name} has no complete calibration")


def _digest(profile: Profile) -> str:
    return sha256_hex(canonical_json(profile.data))


def _median(positions: Iterable[int | None]) -> float | None:
    known = [position for position in positions if position is not None]
    return median(known) if known else None
