"""Losslessness: served tokens under the target alone, and the tolerance that the target itself needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.replay.reference_kit import TINY
from tests.smoke.reference_kit import Engine, prompts
from tests.smoke.served_kit import having, healthy
from zoo.evidence import Engine as Ran
from zoo.evidence import Evidence
from zoo.results import Outcome
from zoo.smoke import asking
from zoo.smoke.client import Client
from zoo.smoke.lossless import (
    Calibration,
    Forced,
    Losslessness,
    calibrate,
    calibration_from,
    calibration_result,
    compare,
    first_difference,
)
from zoo.smoke.probes.lossless import judge
from zoo.smoke.served import Absent

Engines = Callable[..., Engine]
TOKENS = 32
MEASURED = Calibration(prompts=16, tokens=8192, largest_gap=0.22, identical=15, first_difference=71.0)
PINNED = "a" * 40


def record(**changed: Any) -> Evidence:
    """The record of a calibration of the healthy profile, with a pinned target."""
    served = pinned()
    made = Evidence(
        kind="calibration",
        subject=served.profile.name,
        checkpoint_digest="0" * 64,
        basis_digest="0" * 64,
        target={"repo": served.recipe.target.served.path, "revision": PINNED},
        inputs={"sha256": "0" * 64},
        settings={},
        engine=Ran("sglang", "0.5.14", ()),
        host={"gpus": ["H200"]},
        tool="draft-zoo",
        started="2026-11-30T18:00:00Z",
        ended="2026-11-30T18:01:00Z",
        results=(calibration_result(MEASURED, served.profile),),
    )
    return replace(made, **changed)


def pinned() -> Any:
    served = healthy()
    target = replace(served.recipe.target, served=replace(served.recipe.target.served, revision=PINNED))
    return replace(served, recipe=replace(served.recipe, target=target))


def reused(evidence: Evidence, served: Any = None, version: str = "0.5.14") -> Calibration | Absent:
    served = served or pinned()
    return calibration_from(evidence, recipe=served.recipe, profile=served.profile, version=version)


def test_a_calibration_is_read_back_as_it_was_measured() -> None:
    assert reused(record()) == MEASURED
    assert MEASURED.tolerance == pytest.approx(0.33)


def test_a_target_without_noise_still_has_the_tolerance_of_its_dtype() -> None:
    assert replace(MEASURED, largest_gap=0.0).tolerance == 0.3
    assert replace(MEASURED, largest_gap=0.0, least=0.05).tolerance == 0.05


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: reused(record(results=())), "has no calibration"),
        (lambda: reused(record(target={"repo": "other", "revision": PINNED})), "another target"),
        (lambda: reused(record(target={"repo": "x", "revision": "b" * 40})), "another target"),
        (lambda: reused(record(), version="0.5.23"), "is of sglang 0.5.14"),
        (lambda: reused(record(), healthy()), "no pinned revision"),
        (
            lambda: reused(
                record(), replace(pinned(), profile=having(args=()).profile.__class__(**_changed_profile()))
            ),
            "another profile, or of an earlier state",
        ),
    ],
)
def test_a_calibration_of_something_else_is_not_used(made: Callable[[], Any], why: str) -> None:
    found = made()
    assert isinstance(found, Absent)
    assert why in found.reason


def _changed_profile() -> dict[str, Any]:
    profile = healthy().profile
    fields = {name: getattr(profile, name) for name in profile.__dataclass_fields__}
    return fields | {"data": {**profile.data, "args": ["--dtype float16"]}}


@pytest.mark.parametrize(
    ("ours", "theirs", "where"),
    [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1, 2), (1, 2, 3), 2), ((), (), None), ((), (1,), 0)],
)
def test_texts_part_where_the_first_token_differs(ours: Any, theirs: Any, where: int | None) -> None:
    assert first_difference(ours, theirs) == where


def test_identical_texts_and_the_median_first_difference_are_reported() -> None:
    forced = (Forced((0.0,), None), Forced((0.1,), 10), Forced((0.0,), 20), Forced((0.0,), None))
    said = judge(having(lossless=Losslessness(MEASURED, forced, alone=True))).measured
    assert (said["identical"], said["texts"], said["median_first_difference"]) == (2, 4, 15)
    unknown = judge(having(lossless=Losslessness(MEASURED, forced, alone=False))).measured
    assert "identical" not in unknown


@pytest.mark.torch
def test_even_a_dead_draft_is_lossless_and_a_changed_token_is_not(engine: Engines, dead: Path) -> None:
    """Good drafts hide faults of acceptance, and bad ones show them: each rejection is one more chance."""
    asked = prompts()[:6]
    heard: list[int] = []
    with Client(engine(None).url) as alone:
        calibration, own = calibrate(alone, asked, TOKENS, heard.append)
        assert heard == [1, 2, 3, 4, 5, 6]
        assert isinstance(calibration, Calibration)
        assert (calibration.prompts, calibration.identical) == (6, 6)
        assert calibration.largest_gap < 1e-3
        assert calibration.tolerance == 0.05
        for draft in (TINY / "tiny-ft", dead):
            with Client(engine(draft).url) as client:
                answers = asking.ask(client, asked, max_new_tokens=TOKENS)
            found = compare(alone, answers, own, calibration)
            exact = having(engine="reference", info={"dtype": "float32", "version": "0.1"}, lossless=found)
            assert judge(exact).outcome is Outcome.PASSED, judge(exact)
            assert (found.identical, len(found.forced)) == (6, 6)
        ids = list(answers[0].output_ids)
        ids[20] = (ids[20] + 1) % 512
        lossy = compare(alone, (replace(answers[0], output_ids=tuple(ids)), *answers[1:]), own, calibration)
    result = judge(having(lossless=lossy))
    assert result.outcome is Outcome.FAILED
    assert "below the target's best" in result.reason
    assert lossy.forced[0].first_difference == 20


@pytest.mark.torch
def test_a_server_with_a_draft_cannot_calibrate_and_says_why(engine: Engines) -> None:
    with Client(engine(TINY / "tiny-ft").url) as client:
        calibration, _ = calibrate(client, prompts()[:1], 8)
    assert isinstance(calibration, Absent)
    assert "does not support return_logprob yet" in calibration.reason
