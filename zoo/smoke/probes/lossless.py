"""Whether every served token is one that the target alone would give (``zoo.smoke.lossless``)."""

from __future__ import annotations

from typing import Any

from zoo.evidence import Result
from zoo.smoke.probes.verdicts import failed, not_checked, passed
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import LOSSLESS

# A target whose own tokens are further below its best cannot judge anybody else's.
_OWN = 1.0


def judge(served: Served) -> Result:
    found = served.lossless
    if isinstance(found, Absent):
        return not_checked(LOSSLESS, found)
    gaps = [gap for each in found.forced for gap in each.gaps]
    if not gaps:
        return not_checked(LOSSLESS, "no served token was put through the target")
    own, stated = found.calibration.largest_gap, served.settings.tolerance
    tolerance = found.calibration.tolerance if stated is None else stated
    beyond = sum(gap > tolerance for gap in gaps)
    said: dict[str, Any] = {
        "texts": len(found.forced),
        "tokens": len(gaps),
        "largest_gap": round(max(gaps), 6),
        "tolerance": round(tolerance, 6),
        "target_largest_gap": round(own, 6),
        "target_identical": found.calibration.identical,
        "target_texts": found.calibration.prompts,
    }
    if found.alone:
        said["identical"] = found.identical
        if found.first_difference is not None:
            said["median_first_difference"] = found.first_difference
    if own > _OWN or own > tolerance:
        reason = (
            f"the target alone gives tokens {own:.2f} nat below its best one, and the tolerance is "
            f"{min(tolerance, _OWN):g}: this server cannot be the judge"
        )
        return not_checked(LOSSLESS, reason, said)
    if beyond:
        reason = (
            f"{beyond} of {len(gaps)} served tokens are more than {tolerance:.2f} nat below the target's "
            f"best (the worst {max(gaps):.2f}): the output is not the target's"
        )
        return failed(LOSSLESS, reason, said)
    if served.exact and found.alone and found.identical < len(found.forced):
        reason = (
            f"{len(found.forced) - found.identical} of {len(found.forced)} texts differ from the target's "
            "own, and in float32 on a CPU none may"
        )
        return failed(LOSSLESS, reason, said)
    return passed(LOSSLESS, said)
