"""Claims: every number of the card is *measured*, with a record that says so, or *reported by the author*."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from zoo.evidence import Evidence, Result
from zoo.recipe.model import Claim
from zoo.results import Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the evidence says of a measured claim: the record and its result, or a ``problem`` with the code
    of its rule."""

    record: Evidence | None = None
    result: Result | None = None
    code: str = ""
    problem: str = ""


def judge(claim: Claim, evidence: tuple[Evidence, ...]) -> Verdict:
    """Hold a measured claim against the record that it names.

    A record may hold several results; those count whose ``measured`` agrees with the claim's ``at`` wherever
    it names the same thing. The value must equal the measured one within rounding of the digits that the
    claim prints.
    """
    record = next((each for each in evidence if each.name == claim.evidence), None)
    if record is None:
        return Verdict(code="K004", problem=f"there is no evidence {claim.evidence}")
    if record.stale:
        return Verdict(record, code="K004", problem=f"evidence {claim.evidence} is stale: {record.stale}")
    results = [result for result in record.results if _is_about(claim, result)]
    if not results:
        return Verdict(
            record, code="K004", problem=f"evidence {claim.evidence} does not measure {claim.metric}"
        )
    for result in results:
        if result.outcome is not Outcome.PASSED:
            problem = f"check {result.check} of evidence {claim.evidence} did not pass"
            return Verdict(record, result, "K004", problem)
        measured = result.measured[claim.metric]
        if not _agree(claim.value, measured):
            shown = value_text(measured) if isinstance(measured, (int, float)) else str(measured)
            problem = f"{claim.metric} is claimed as {claimed(claim)}, but {claim.evidence} measured {shown}"
            return Verdict(record, result, "K002", problem)
    return Verdict(record, results[0])


def claimed(claim: Claim) -> str:
    """The value as it is printed: ratios as a gain, ``+2-13%``; other numbers with their own digits."""
    values = claim.value if isinstance(claim.value, tuple) else (claim.value,)
    if not claim.metric.endswith("_ratio"):
        return "-".join(value_text(value) for value in values)
    gains = [round((value - 1) * 100, 2) for value in values]
    if min(gains) < 0:
        return " to ".join(f"{gain:+g}%" for gain in gains)
    return "+" + "-".join(f"{gain:g}" for gain in gains) + "%"


def value_text(value: float) -> str:
    """A number without float noise: ``2.47``, ``1e-5``, ``50000``."""
    return (
        f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e+") if isinstance(value, float) else str(value)
    )


def _is_about(claim: Claim, result: Result) -> bool:
    measured = result.measured
    return claim.metric in measured and all(
        measured[key] == value for key, value in claim.at.items() if key in measured
    )


def _agree(value: float | tuple[float, float], measured: object) -> bool:
    if isinstance(value, tuple):
        if isinstance(measured, list):
            return len(measured) == 2 and all(map(_agree, value, measured))
        if not isinstance(measured, (int, float)):
            return False
        low, high = value
        return low - _rounding(low) <= measured <= high + _rounding(high)
    return isinstance(measured, (int, float)) and abs(value - measured) <= _rounding(value)


def _rounding(value: float) -> float:
    """Half a unit of the last digit that the recipe states, e.g. 0.005 for 2.47, and the noise of a binary
    float."""
    exponent = Decimal(repr(value)).as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent + 1e-9


def contradictions(
    claims: tuple[Claim, ...], evidence: tuple[Evidence, ...], code: str
) -> Iterator[tuple[int, Verdict]]:
    """The measured claims that fail with ``code``, by their index in the recipe."""
    for index, claim in enumerate(claims):
        verdict = judge(claim, evidence) if claim.source == "measured" else Verdict()
        if verdict.code == code:
            yield index, verdict
