"""Which neighbours a declared config has, and that the ones which a trace cannot make say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.replay.reference_kit import EAGLE3, TINY, weights_of
from zoo.replay.run import Draft, Recorded, late
from zoo.replay.trace import open_trace
from zoo.replay.variants import Variant, controls, neighbours, with_theta
from zoo.sources import Sources

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def recorded(held_out: Path) -> Recorded:
    import torch

    return Recorded.of(open_trace(held_out), "cpu", torch.float32)


@pytest.fixture(scope="module")
def draft(recorded: Recorded) -> Draft:
    return Draft.of(Sources().open(str(TINY / "tiny-ft")), recorded)


def named(draft: Draft, recorded: Recorded, **changed: Any) -> dict[str, Variant]:
    import torch

    config = draft.config | changed
    other = Draft(config, draft.weights, draft.target_layers, None, "cpu", torch.float32)
    return {each.name: each for each in neighbours(other, recorded, other.reading())}


def test_the_neighbours_of_the_tiny_draft(draft: Draft, recorded: Recorded) -> None:
    found = named(draft, recorded)
    assert (
        list(found)
        == (
            "aux-0+1 aux-0-1 aux-1+1 aux-1-1 aux-2+1 aux-2-1 aux-all+1 aux-all-1 fc-reversed fc-rotated "
            "lag-1 amplitude-1.4159 theta-x0.1 theta-x10 mask-3 mask-5 mask-0"
        ).split()
    )
    assert not any(each.absent for each in found.values())
    assert found["aux-all-1"].reading.aux_ids == (-1, 0, 1)
    assert found["fc-rotated"].reading.aux_ids == (2, 0, 1)
    assert found["amplitude-1.4159"].reading.rope.amplitude == pytest.approx(1.4159)
    plain = draft.reading().rope.inverse_frequencies
    slower = found["theta-x10"].reading.rope.inverse_frequencies
    assert slower[0] == plain[0] == 1
    assert slower[1] < plain[1]


def test_layers_that_were_not_recorded_are_said(draft: Draft, recorded: Recorded) -> None:
    import torch

    block = {"dflash_config": {"target_layer_ids": [1, 3], "mask_token_id": 4}}
    trace = recorded.trace
    fewer = type(trace)(trace.folder, {**trace.index, "layers": [1, 3]}, trace.conversations, trace.head)
    scarce = Recorded(fewer, recorded.conversations, recorded.embed, recorded.lm_head, "cpu", torch.float32)
    found = named(draft, scarce, **block)
    assert found["aux-3+1"].absent == "the target has no layer 4"
    assert found["aux-1-1"].absent == "the trace has no states after layer 0 (--neighbours)"
    assert not found["fc-reversed"].absent
    assert "fc-rotated" not in found


def test_a_mask_with_the_same_embedding_is_no_other_mask(draft: Draft, recorded: Recorded) -> None:
    import torch

    embed = recorded.embed.clone()
    embed[5] = 3 * embed[4]
    twins = Recorded(recorded.trace, recorded.conversations, embed, recorded.lm_head, "cpu", torch.float32)
    found = named(draft, twins)
    assert found["mask-5"].absent == "its embedding is that of 4 (cosine 1.000000)"
    assert not found["mask-3"].absent


def test_theta_is_changed_wherever_it_stands() -> None:
    assert with_theta({}, 10) == {"rope_theta": 100000.0}
    assert with_theta({"rope_theta": 5.0}, 10)["rope_theta"] == 50
    both = {"rope_theta": 5.0, "rope_scaling": None, "rope_parameters": {"rope_theta": 5.0}}
    changed = with_theta(both, 10)
    assert (changed["rope_theta"], changed["rope_parameters"]["rope_theta"]) == (50, 50)
    inner = with_theta({"rope_parameters": {"rope_theta": 5.0}}, 10)
    assert inner == {"rope_parameters": {"rope_theta": 50}}


def test_controls_change_weights_and_nothing_else(draft: Draft) -> None:
    import torch

    found = {each.name: each for each in controls(draft, draft.reading())}
    assert list(found) == ["fc-zeroed", "q-proj-random", "unloaded"]
    for name, number in (("fc-zeroed", 1), ("q-proj-random", 2), ("unloaded", 25)):
        weights = found[name].weights
        assert weights is not None
        assert weights.keys() == draft.weights.keys()
        changed = [key for key, value in weights.items() if not torch.equal(value, draft.weights[key])]
        assert len(changed) == number, name
        assert all(weights[key].shape == draft.weights[key].shape for key in weights)


def test_a_late_context_has_the_states_of_the_token_before() -> None:
    import torch

    context = torch.arange(4)[:, None].float()
    assert late(context, 0) is context
    assert late(context, 1)[:, 0].tolist() == [0, 0, 1, 2]


def test_an_eagle3_draft_has_no_mask_but_its_own_key() -> None:
    import torch

    one = Draft(EAGLE3, weights_of(EAGLE3), 9, 3, "cpu", torch.float32)
    trace = type("T", (), {"layers": (0, 1, 2, 3, 4, 5, 6, 7)})()
    recorded = Recorded(trace, (), torch.zeros(48, 32), torch.zeros(48, 32), "cpu", torch.float32)
    names = [each.name for each in neighbours(one, recorded, one.reading())]
    assert "norm-output" in names
    assert not any(name.startswith("mask") for name in names)
