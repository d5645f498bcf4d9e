"""A zoo of a thousand recipes, each with a draft of a few kB: the time is linear, and processes share it."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ratios import compare, wall
from tests.many import make_many
from zoo.processes import cores

ZOO = str(Path(sys.executable).with_name("zoo"))
MANY, FEW = 1000, 100


@pytest.fixture(scope="module")
def zoos(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Zoos of 1, 100 and 1,000 recipes."""
    folder = tmp_path_factory.mktemp("many")
    for count in (1, FEW, MANY):
        make_many(folder / str(count), count)
    return {count: folder / str(count) for count in (1, FEW, MANY)}


def verify(zoo: Path, jobs: int) -> list[str]:
    return [ZOO, "--zoo", str(zoo), "verify", "--all", "--jobs", str(jobs)]


def test_a_thousand_recipes_take_ten_times_as_long_as_a_hundred(
    benchmark: Any, zoos: dict[int, Path]
) -> None:
    """Without the start of the command, which is measured with one recipe."""

    def measure() -> float:
        ratios = []
        for _ in range(3):
            one, few, many = (wall(verify(zoos[count], 1)) for count in (1, FEW, MANY))
            ratios.append((many - one) / (few - one))
        return statistics.median(ratios)

    ratio = benchmark.pedantic(measure, rounds=1, iterations=1)
    benchmark.extra_info["ratio"] = ratio
    linear = (MANY - 1) / (FEW - 1)
    print(f"\n1,000 recipes: {ratio:.1f} times 100 of them (linear: {linear:.1f})")
    assert ratio <= 1.25 * linear


@pytest.mark.skipif(cores() < 2, reason="two processes need two cores")
def test_two_processes_share_the_work(benchmark: Any, zoos: dict[int, Path]) -> None:
    ratio = benchmark.pedantic(
        compare,
        (verify(zoos[MANY], 2), verify(zoos[MANY], 1)),
        {"rounds": 3},
        rounds=1,
        iterations=1,
    )
    benchmark.extra_info["ratio"] = ratio.median
    print(f"\n1,000 recipes, two processes: {ratio} of one")
    assert ratio.median <= 0.7
