"""Faults that are put into the tiny draft are found by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.replay.reference_kit import TINY
from zoo.errors import UsageError
from zoo.replay.bisect import Found, bisect, differences
from zoo.replay.run import Draft, Recorded
from zoo.replay.trace import open_trace
from zoo.sources import Sources

pytestmark = pytest.mark.torch
QUERIES = "layers.1.self_attn.q_proj.weight"


@pytest.fixture(scope="module")
def recorded(held_out: Path) -> Recorded:
    import torch

    return Recorded.of(open_trace(held_out), "cpu", torch.float32).only("agent")


@pytest.fixture(scope="module")
def good(recorded: Recorded) -> Draft:
    return Draft.of(Sources().open(str(TINY / "tiny-ft")), recorded)


def shifted(good: Draft) -> Draft:
    block = {**good.config["dflash_config"], "target_layer_ids": [1, 2, 3]}
    return replace(good, config={**good.config, "dflash_config": block})


def zeroed(good: Draft) -> Draft:
    return replace(good, weights={**good.weights, QUERIES: good.weights[QUERIES] * 0})


def lost(good: Draft) -> Draft:
    return replace(good, weights={key: each for key, each in good.weights.items() if key != "norm.weight"})


def two_faults(good: Draft) -> Draft:
    rope = {"rope_type": "default", "rope_theta": 100000.0}
    bad = shifted(good)
    return replace(bad, config={**bad.config, "rope_parameters": rope, "initializer_range": 1.0})


def names(found: Found) -> list[str]:
    return [part.name for part in found.smallest]


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (shifted, ["config.json dflash_config.target_layer_ids"]),
        (zeroed, [QUERIES]),
        (
            two_faults,
            ["config.json dflash_config.target_layer_ids", "config.json rope_parameters.rope_theta"],
        ),
    ],
)
def test_the_smallest_difference_that_explains_the_loss(
    good: Draft, recorded: Recorded, broken: Callable[[Draft], Draft], expected: list[str]
) -> None:
    found = bisect(good, broken(good), recorded)
    assert found.bad < found.good
    assert sorted(names(found)) == expected
    assert found.together == pytest.approx(1)


def test_a_tensor_that_is_not_loaded_is_what_an_engine_leaves_there(good: Draft, recorded: Recorded) -> None:
    (part,) = differences(good, replace(lost(good), weights=dict(_whole(good, recorded))))
    assert part.name == "norm.weight"
    assert bisect(good, lost(good), recorded).loss.change < 0.05


def _whole(good: Draft, recorded: Recorded) -> Mapping[str, Any]:
    import torch

    return {**good.weights, "norm.weight": torch.ones_like(good.weights["norm.weight"])}


def test_drafts_that_are_the_same_have_nothing_to_explain(good: Draft, recorded: Recorded) -> None:
    found = bisect(good, good, recorded)
    assert (found.smallest, found.recovers, found.loss.change) == ((), (), 0)


def test_keys_that_no_reader_reads_are_no_difference(good: Draft) -> None:
    other = replace(good, config={**good.config, "transformers_version": "5", "initializer_range": 9.0})
    assert list(differences(good, other)) == []


def test_drafts_of_other_shapes_are_refused(good: Draft, recorded: Recorded) -> None:
    smaller = replace(good, weights={**good.weights, QUERIES: good.weights[QUERIES][:64]})
    with pytest.raises(UsageError, match="has the shape"):
        bisect(good, smaller, recorded)
