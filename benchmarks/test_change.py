"""``zoo ci`` on one changed recipe of a thousand looks only at what the change touches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ratios import compare
from tests.many import make_many

ZOO = str(Path(sys.executable).with_name("zoo"))
MANY = 1000


@pytest.fixture(scope="module")
def zoos(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Zoos of 1 and 1,000 recipes in git; in each, one recipe is changed and not committed."""
    folder = tmp_path_factory.mktemp("change")
    for count in (1, MANY):
        root = folder / str(count)
        make_many(root, count)
        name = min(path.stem for path in (root / "recipes").glob("*.yaml"))
        subprocess.run([ZOO, "--zoo", root, "card", name], check=True)
        git = ["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@example.org"]
        for args in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a zoo"]):
            subprocess.run([*git, *args], check=True)
        with (root / "recipes" / f"{name}.yaml").open("a") as recipe:
            recipe.write("# read again\n")
    return {count: folder / str(count) for count in (1, MANY)}


def test_one_changed_recipe_of_a_thousand_costs_little_more_than_one_of_one(
    benchmark: Any, zoos: dict[int, Path]
) -> None:
    ours, peer = ([ZOO, "--zoo", str(zoos[count]), "ci", "--base", "HEAD"] for count in (MANY, 1))
    ratio = benchmark.pedantic(compare, (ours, peer), {"rounds": 5}, rounds=1, iterations=1)
    benchmark.extra_info["ratio"] = ratio.median
    print(f"\nzoo ci, one changed recipe: {ratio} with 1,000 recipes, of that with 1")
    assert ratio.median <= 1.5
