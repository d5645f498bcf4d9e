"""A part of the fault matrix in which every request, every fault and every step occurs. All of it:
``make reliability``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.faults import Fault
from tests.reliability.matrix import PAGE, Matrix, prepared
from zoo.release.steps import STEPS

SEED = 7


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with prepared(tmp_path_factory.mktemp("matrix")) as found:
        yield found


def test_a_release_survives_every_request_every_fault_and_every_step_at_least_once(matrix: Matrix) -> None:
    cases = matrix.pairwise(SEED)
    assert {case.fault for case in cases if case.fault} == set(Fault)
    assert {case.kill.step for case in cases if case.kill} == {step.name for step in STEPS}
    assert {(case.scenario, case.spot) for case in cases if case.spot and not case.stays} == {
        (scenario, spot) for scenario, spots in matrix.rows.items() for spot in spots
    }
    failed = {str(each.case): each.problems for each in matrix.play(cases) if each.problems}
    assert not failed


def test_the_page_shows_every_request_and_step_and_no_failure(matrix: Matrix) -> None:
    lines = Path(PAGE).read_text().splitlines()
    rows = [line.split(" | ")[0].removeprefix("| ").strip("`") for line in lines if line.startswith("| ")]
    for scenario, spots in matrix.rows.items():
        assert {str(spot) for spot in spots} <= set(rows), f"{scenario.name}: run make reliability"
    assert {step.name for step in STEPS} <= set(rows), "run make reliability"
    assert not [line for line in lines if "✗ " in line]
