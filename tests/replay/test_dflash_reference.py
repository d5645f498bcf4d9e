"""The DFlash pass computes what the tiny pair's own model and transformers compute, under each reading."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tests.replay.reference_kit import DFLASH, TINY, TOKENS, YARN, inputs, tiny, tiny_draft, weights_of
from zoo.errors import UnreadableError, UsageError
from zoo.replay.reference import NoReferenceError, reference

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the torch extra")

from zoo.replay.reference.dflash import Attends, reading  # noqa: E402

OLD, NEW, VLLM = ("sglang", "0.5.14"), ("sglang", "0.5.23"), ("vllm", "0.33.0")
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}


def inner(**changes: Any) -> dict[str, Any]:
    return {"dflash_config": DFLASH["dflash_config"] | changes}


def states(config: dict[str, Any], context: Any, anchors: list[int], batch: int = 32) -> Any:
    """The states of a random draft of this config at these anchors."""
    _, tokens, embed, _ = inputs()
    at = torch.tensor(anchors)
    return reference(config, weights_of(config)).block_states(context, at, tokens[at], embed, batch)


@pytest.mark.parametrize("name", ["tiny-ft", "base"])
@pytest.mark.parametrize("batch", [1, 7, 100])
def test_states_are_those_of_the_tiny_pairs_own_model(name: str, batch: int) -> None:
    (model,) = tiny("model")
    theirs, ours = model.load_draft(TINY / name), tiny_draft(name)
    context, tokens, embed, _ = inputs(128)
    anchors = torch.arange(TOKENS)
    found = ours.block_states(context, anchors, tokens, embed, batch)
    for anchor in anchors.tolist():
        block = torch.full((8,), theirs.mask_token_id)
        block[0] = tokens[anchor]
        positions = torch.arange(anchor + 8)[None]
        expected = theirs(embed[block][None], context[None, :anchor], positions)[0, 1:]
        torch.testing.assert_close(found[anchor], expected, atol=1e-5, rtol=0)


def test_proposals_are_the_likeliest_tokens_of_the_states() -> None:
    context, tokens, embed, head = inputs()
    draft = reference(DFLASH, weights_of(DFLASH))
    anchors = torch.tensor([0, 3, 30, 39])
    found = draft.proposals(context, tokens, anchors, embed, head, batch=3)
    expected = (draft.block_states(context, anchors, tokens[anchors], embed) @ head.T).argmax(-1)
    assert found.shape == (4, draft.proposals_per_step) == (4, 5)
    assert torch.equal(found, expected)
    assert draft.proposals(context, tokens, anchors[:0], embed, head).shape == (0, 5)


def test_an_anchor_sees_every_state_before_it_and_none_from_it_on() -> None:
    context = inputs()[0]
    plain = states(DFLASH, context, [20])
    for row, seen in [(0, True), (19, True), (20, False), (39, False)]:
        changed = context.clone()
        changed[row] += 5
        assert torch.equal(states(DFLASH, changed, [20]), plain) is not seen


def test_a_window_ends_where_transformers_ends_it() -> None:
    """A key at distance ``window - 1`` is seen, one at ``window`` is not; the first mask token is at 21."""
    config = DFLASH | {"layer_types": ["sliding_attention"], "sliding_window": 9, "use_sliding_window": True}
    context = inputs()[0]
    plain = states(config, context, [20])
    for row, first_differs in [(12, False), (13, True)]:
        changed = context.clone()
        changed[row] += 5
        assert torch.equal(states(config, changed, [20])[0, 0], plain[0, 0]) is not first_differs


@pytest.mark.parametrize("causal", [True, False])
def test_a_causal_block_does_not_depend_on_how_long_it_is(causal: bool) -> None:
    config = DFLASH | {"is_causal": causal}
    context = inputs()[0]
    long, short = (states(config | {"block_size": size}, context, [20])[0, :2] for size in (6, 3))
    assert torch.allclose(long, short, atol=1e-6) is causal


@pytest.mark.parametrize(
    "rope",
    [
        YARN,
        YARN | {"mscale": 1.0, "mscale_all_dim": 1.0},
        YARN | {"mscale": 1.0, "mscale_all_dim": 0.5, "beta_fast": 8.0, "beta_slow": 2.0},
        YARN | {"attention_factor": 1.3, "truncate": False},
        {"rope_type": "linear", "factor": 4.0},
        LLAMA3 | {"original_max_position_embeddings": 256},
        LLAMA3,
    ],
)
def test_rope_is_that_of_transformers_to_the_bit(rope: dict[str, Any]) -> None:
    from transformers import Qwen3Config
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = DFLASH | {"rope_scaling": rope, "head_dim": 128}
    theirs = Qwen3Config(**deepcopy(config))  # it writes into the dicts that it gets
    frequencies, amplitude = ROPE_INIT_FUNCTIONS[rope["rope_type"]](theirs, "cpu")
    found = reading(config).rope
    assert found.inverse_frequencies == tuple(frequencies.tolist())
    assert found.amplitude == pytest.approx(amplitude, rel=1e-12)


def test_both_shapes_of_a_config_are_one_reading() -> None:
    old = DFLASH | {"rope_scaling": YARN | {"type": "yarn"}, "rope_theta": 5e4}
    new = {key: value for key, value in DFLASH.items() if key not in ("rope_theta", "block_size")}
    new |= {"rope_parameters": YARN | {"rope_theta": 5e4}} | inner(block_size=6)
    assert reading(old) == reading(new)
    assert reading(DFLASH | {"rope_theta": 5e4}).rope != reading(DFLASH).rope


def test_the_amplitude_is_what_the_engine_makes_of_mscale() -> None:
    config = DFLASH | {"rope_scaling": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0}}
    amplitudes = {who: reading(config, who).rope.amplitude for who in (None, OLD, NEW, VLLM)}
    assert amplitudes == {None: 1.0, OLD: pytest.approx(1.41589, abs=1e-5), NEW: 1.0, VLLM: 1.0}


def test_readings_agree_on_a_plain_config() -> None:
    for engine in (OLD, NEW, VLLM):
        assert replace(reading(DFLASH, engine), engine=None) == reading(DFLASH)


def test_windows_and_causality_by_layer_and_engine() -> None:
    kinds = ["full_attention", "sliding_attention"]
    config = DFLASH | {"num_hidden_layers": 2, "layer_types": kinds}
    config |= {"sliding_window": 9, "use_sliding_window": True}
    usual = (Attends(None, causal=False), Attends(9, causal=True))
    assert reading(config).layers == reading(config, OLD).layers == reading(config, NEW).layers == usual
    stated = config | {"is_causal": False}
    assert reading(stated, OLD).layers == usual
    assert reading(stated, NEW).layers == reading(stated).layers == (Attends(None, False), Attends(9, False))


def test_what_an_engine_makes_up() -> None:
    bare = {key: value for key, value in DFLASH.items() if key != "block_size"}
    bare |= {
        "num_hidden_layers": 3,
        "layer_types": ["full_attention"] * 3,
        "dflash_config": {"mask_token_id": 47},
    }
    assert reading(bare, OLD, target_layers=30).aux_ids == (1, 14, 27)
    assert reading(bare, OLD, target_layers=30).block_size == 16
    with pytest.raises(NoReferenceError, match="states no target_layer_ids"):
        reading(bare)


def test_a_mask_token_beside_the_block_is_lost_on_the_old_engine() -> None:
    config = DFLASH | {"mask_token_id": 11, "dflash_config": {"target_layer_ids": [1, 4, 6]}}
    assert reading(config).mask_token_id == reading(config, NEW).mask_token_id == 11
    with pytest.raises(NoReferenceError, match="leaves the mask token to the tokenizer"):
        reading(config, OLD)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, 'rope of type "dynamic"'),
        ({"rope_scaling": {"rope_type": "yarn"}}, "without factor"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"layer_types": ["chunked_attention"]}, "layer of type"),
        (inner(attention_sink_bias=True), "dflash_config.attention_sink_bias"),
        ({"rope_theta": "fast"}, "no meaning here"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 0.0}}, "not finite"),
        (inner(target_layer_ids=[]), "states no target_layer_ids"),
        ({"architectures": ["DFlashLagunaForCausalLM"]}, "Laguna"),
        ({"head_dim": "wide"}, "refused by transformers"),
        ({"num_hidden_layers": None}, "num_hidden_layers"),
    ],
)
def test_what_has_no_reference_says_what_it_is(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(NoReferenceError, match=said):
        reading(DFLASH | changes)


def test_an_engine_version_that_nobody_has_read_is_refused() -> None:
    with pytest.raises(UsageError, match="no reading for"):
        reading(DFLASH, ("sglang", "0.5.99"))


def test_a_draft_that_the_engine_refuses_is_not_replayed_under_it() -> None:
    with pytest.raises(NoReferenceError, match="out-of-range layer id"):
        reading(DFLASH | {"num_target_layers": 5}, OLD)


def test_a_missing_or_misshapen_tensor_is_named() -> None:
    weights = weights_of(DFLASH)
    q = weights.pop("layers.0.self_attn.q_proj.weight")
    with pytest.raises(UnreadableError, match=r"no tensor .layers\.0\.self_attn\.q_proj\.weight"):
        reference(DFLASH, weights)
    with pytest.raises(UnreadableError, match=r"q_proj.* has the shape \[64, 31\]"):
        reference(DFLASH, weights | {"layers.0.self_attn.q_proj.weight": q[:, 1:]})
