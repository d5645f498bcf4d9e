"""Claims: every number of the card is *measured*, with a record that says so, or *reported by the author*."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from zoo.evidence import Evidence, Result
from zoo.recipe.model import Claim
from zoo.results import Outcome

# The widest range that one measured value supports, as a part of it.
WIDEST_RANGE = 0.2


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

    A record may hold several results. Those count for which the record states every condition of the claim
    (``at`` and ``against``), with the same value: by the result itself, else by the settings, the engine or
    the host (:func:`_stated`). None is taken on trust.

    The value must equal the measured one within rounding of the digits that the claim prints. A range must
    hold all measured values; and, unless both its ends are measured values, it may be no wider than
    :data:`WIDEST_RANGE` of each (of the gain, for a ratio, because that is what a card prints).
    """
    record = next((each for each in evidence if each.name == claim.evidence), None)
    if record is None:
        return Verdict(code="K004", problem=f"there is no evidence {claim.evidence}")
    if record.stale:
        return Verdict(record, code="K004", problem=f"evidence {claim.evidence} is stale: {record.stale}")
    results = [result for result in record.results if _is_about(claim, record, result)]
    if not results:
        at = ", ".join(f"{key} {value}" for key, value in _conditions(claim).items())
        problem = f"evidence {claim.evidence} does not measure {claim.metric}" + (f" at {at}" if at else "")
        return Verdict(record, code="K004", problem=problem + _instead(claim, record))
    ends_measured = _ends_measured(claim, results)
    for result in results:
        if result.outcome is not Outcome.PASSED:
            problem = f"check {result.check} of evidence {claim.evidence} did not pass"
            return Verdict(record, result, "K004", problem)
        measured = result.measured[claim.metric]
        if not _agree(claim.value, measured):
            shown = value_text(measured) if isinstance(measured, (int, float)) else str(measured)
            problem = f"{claim.metric} is claimed as {claimed(claim)}, but {claim.evidence} measured {shown}"
            return Verdict(record, result, "K002", problem)
        if not ends_measured and _is_too_wide(claim, measured):
            problem = (
                f"{claim.metric} is claimed as {claimed(claim)}, but {claim.evidence} measured "
                f"{value_text(measured)}: a range whose ends were not measured may be as wide as "
                f"{WIDEST_RANGE:.0%} of that{' gain' if claim.metric.endswith('_ratio') else ''}"
            )
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
    """A number without float noise: ``2.47``, ``1e-5``, ``50000``, ``1000000`` (whole numbers in full)."""
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e+")


def _is_about(claim: Claim, record: Evidence, result: Result) -> bool:
    stated = _stated(record, result)
    return claim.metric in result.measured and all(
        key in stated and _is_same(value, stated[key]) for key, value in _conditions(claim).items()
    )


def _conditions(claim: Claim) -> dict[str, Any]:
    """What the record must state: the claim's ``at``, and what it compares with."""
    return {**claim.at, **({"against": claim.against} if claim.against else {})}


def _instead(claim: Claim, record: Evidence) -> str:
    """What the record says of the first condition that none of its results meets."""
    stated = [_stated(record, each) for each in record.results if claim.metric in each.measured]
    for key, value in _conditions(claim).items() if stated else ():
        said = [each[key] for each in stated if key in each]
        if not said:
            return f"; it does not say {key}"
        if not any(_is_same(value, each) for each in said):
            return f"; it says {key} {', '.join(dict.fromkeys(map(str, said)))[:100]}"
    return ""


def _stated(record: Evidence, result: Result) -> Mapping[str, Any]:
    """The conditions of a result by name. Beside what the check named itself: ``engine``, ``engine_version``,
    ``driver``, ``cpu``, ``gpus`` (how many), and ``gpu`` and ``hardware`` (``8 x NVIDIA B200``) if all are of
    one kind."""
    host = dict(record.host)
    gpus = host.pop("gpus", [])
    host["gpus"] = len(gpus)
    if len(set(gpus)) == 1:
        host |= {"gpu": gpus[0], "hardware": f"{len(gpus)} x {gpus[0]}"}
    engine = {"engine": record.engine.name, "engine_version": record.engine.version}
    return {**host, **engine, **record.settings, **result.measured}


def _is_same(claimed: object, stated: object) -> bool:
    # True is no 1 here.
    return isinstance(stated, bool) is isinstance(claimed, bool) and claimed == stated


def _ends_measured(claim: Claim, results: list[Result]) -> bool:
    """Whether a claimed range begins and ends with measured values."""
    ends = claim.value if isinstance(claim.value, tuple) else ()
    return all(any(_agree(end, result.measured[claim.metric]) for result in results) for end in ends)


def _is_too_wide(claim: Claim, measured: Any) -> bool:
    """Whether a claimed range says more than one measured value, or a measured range, does."""
    if not isinstance(claim.value, tuple) or isinstance(measured, list):
        return False
    low, high = claim.value
    size: float = measured - 1 if claim.metric.endswith("_ratio") else measured
    return high - low > WIDEST_RANGE * abs(size) + 1e-9


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
