"""The EAGLE3 pass computes what a draft computes that runs over everything again for each token."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.replay.reference_kit import EAGLE3, HIDDEN, TOKENS, VOCAB, inputs, weights_of
from zoo.errors import UnreadableError, UsageError
from zoo.replay.reference import NoReferenceError, reference

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the torch extra")

from zoo.replay.reference.eagle3 import reading  # noqa: E402

OLD, NEW, VLLM = ("sglang", "0.5.14"), ("sglang", "0.5.23"), ("vllm", "0.33.0")
STEPS = 4
IDS = "eagle_aux_hidden_state_layer_ids"
EVERY_NORM = {"fc_norm": True, "norm_output": True, "norm_before_residual": True}


def norm(x: Any, weight: Any) -> Any:
    return weight * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def turned(x: Any) -> Any:
    """Rotary positions of x [R, heads, 16] at theta 10,000, as complex numbers."""
    powers = torch.arange(8) / 8
    angles = torch.arange(len(x))[:, None] * 10000.0**-powers
    pairs = torch.complex(x[..., :8], x[..., 8:]) * torch.polar(torch.ones_like(angles), angles)[:, None]
    return torch.cat((pairs.real, pairs.imag), dim=-1)


def plain_layer(weights: dict[str, Any], embedded: Any, inner: Any, config: dict[str, Any]) -> Any:
    """The layer over all pairs, [R, H] before the last norm, written head by head."""
    take = {name.removeprefix("midlayer."): tensor for name, tensor in weights.items()}
    normed = norm(inner, take["hidden_norm.weight"])
    x = torch.cat((norm(embedded, take["input_layernorm.weight"]), normed), dim=-1)
    q, k, v = ((x @ take[f"self_attn.{name}_proj.weight"].T).view(len(x), -1, 16) for name in "qkv")
    q, k, mixed = turned(q), turned(k), []
    for head in range(4):
        scores = q[:, head] @ k[:, head // 2].T / 4
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        mixed.append(scores.softmax(-1) @ v[:, head // 2])
    residual = normed if config.get("norm_before_residual") else inner
    out = residual + torch.cat(mixed, dim=-1) @ take["self_attn.o_proj.weight"].T
    y = norm(out, take["post_attention_layernorm.weight"])
    gate, up = (y @ take[f"mlp.{name}_proj.weight"].T for name in ("gate", "up"))
    return out + (gate * gate.sigmoid() * up) @ take["mlp.down_proj.weight"].T


def plain_chain(config: dict[str, Any], weights: dict[str, Any], anchor: int) -> list[int]:
    """The tokens that the draft proposes after ``anchor``."""
    context, given, embed, _ = inputs()
    states = context[:anchor]
    if config.get("norm_before_fc"):
        states = norm(states, weights["input_norm.weight"])
    if config.get("fc_norm"):
        parts = states.chunk(3, dim=-1)
        states = torch.cat([norm(part, weights[f"fc_norm.{at}.weight"]) for at, part in enumerate(parts)], -1)
    inner, tokens = states @ weights["fc.weight"].T, given[1 : anchor + 1].tolist()
    for _ in range(STEPS):
        out = plain_layer(weights, embed[torch.tensor(tokens)], inner, config)[-1:]
        normed = norm(out, weights["norm.weight"])
        choice = int((normed @ weights["lm_head.weight"].T).argmax())
        tokens.append(choice + int(weights["d2t"][choice]))
        inner = torch.cat((inner, normed if config.get("norm_output") else out))
    return tokens[anchor:]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"fc_norm": True},
        {"norm_output": True},
        {"norm_before_residual": True},
        {"norm_before_fc": True},
        EVERY_NORM,
    ],
)
@pytest.mark.parametrize("batch", [1, 3, 100])
def test_a_chain_is_that_of_a_draft_that_starts_over_for_every_token(
    changes: dict[str, Any], batch: int
) -> None:
    config = EAGLE3 | changes
    weights = {name: tensor for name, tensor in weights_of(config).items() if name != "embed_tokens.weight"}
    context, tokens, embed, head = inputs()
    anchors = torch.tensor([1, 2, 9, 24, 39])
    draft = reference(config, weights, steps=STEPS)
    found = draft.proposals(context, tokens, anchors, embed, head, batch=batch)
    assert found.tolist() == [plain_chain(config, weights, anchor) for anchor in anchors.tolist()]
    assert draft.proposals_per_step == STEPS
    assert draft.proposals(context, tokens, anchors[:0], embed, head).shape == (0, STEPS)


def test_an_anchor_looks_at_nothing_after_it() -> None:
    context, tokens, embed, head = inputs()
    draft = reference(EAGLE3, weights_of(EAGLE3), steps=STEPS)
    anchor = torch.tensor([20])
    plain = next(states for _, states in draft.chains(context, tokens, anchor, embed, head))
    for row, seen in [(0, True), (19, True), (20, False), (TOKENS - 1, False)]:
        changed = context.clone()
        changed[row] += 5
        found = next(states for _, states in draft.chains(changed, tokens, anchor, embed, head))
        assert torch.equal(found, plain) is not seen


def test_tokens_are_those_of_the_target_through_the_reduced_vocabulary() -> None:
    context, tokens, embed, head = inputs()
    found = reference(EAGLE3, weights_of(EAGLE3), steps=STEPS).proposals(
        context, tokens, torch.arange(1, TOKENS), embed, head
    )
    assert set(found.flatten().tolist()) <= {2 * draft + 1 for draft in range(20)}


def test_the_targets_head_and_table_are_used_where_the_draft_has_none() -> None:
    config = EAGLE3 | {"draft_vocab_size": None}
    weights = weights_of(config)
    for name in ("lm_head.weight", "embed_tokens.weight", "d2t"):
        weights.pop(name, None)
    context, tokens, embed, head = inputs()
    anchors = torch.arange(1, TOKENS)
    found = reference(config, weights, steps=1).proposals(context, tokens, anchors, embed, head)
    same = config | {"draft_vocab_size": VOCAB}
    full = weights | {"lm_head.weight": head}
    assert torch.equal(found, reference(same, full, steps=1).proposals(context, tokens, anchors, embed, head))


def test_sglang_replaces_the_files_embedding_and_others_use_it() -> None:
    weights = weights_of(EAGLE3) | {"embed_tokens.weight": torch.ones(VOCAB, HIDDEN)}
    uses = {who: reference(EAGLE3, weights, who, steps=2).embed for who in (None, OLD, NEW)}
    assert uses[None] is not None
    assert uses[OLD] is None
    assert uses[NEW] is None


def test_a_target_of_another_width_needs_the_files_embedding() -> None:
    config = EAGLE3 | {"target_hidden_size": 40}
    weights = weights_of(config)
    context, tokens, embed, head = inputs(40)
    draft, anchors = reference(config, weights, OLD, steps=2), torch.tensor([3, 4])
    assert draft.proposals(context, tokens, anchors, embed, head).shape == (2, 2)
    del weights["embed_tokens.weight"]
    with pytest.raises(UnreadableError, match="embed_tokens"):
        reference(config, weights, OLD, steps=2)


def test_both_spellings_of_the_layer_are_read() -> None:
    weights = weights_of(EAGLE3)
    other = {name.replace("midlayer.", "layers.0."): tensor for name, tensor in weights.items()}
    context, tokens, embed, head = inputs()
    given = (context, tokens, torch.arange(1, TOKENS), embed, head)
    one, two = (reference(EAGLE3, each, steps=2).proposals(*given) for each in (weights, other))
    assert torch.equal(one, two)


def test_who_reads_which_norm() -> None:
    config = EAGLE3 | EVERY_NORM
    read = {who: reading(config, who, steps=2, target_layers=30) for who in (None, OLD, NEW, VLLM)}
    assert [each.norm_before_residual for each in read.values()] == [True, False, False, True]
    assert all(each.fc_norm and each.norm_output for each in read.values())
    config = EAGLE3 | {"norm_before_fc": True, "use_aux_norm": True}
    read = {who: reading(config, who, steps=2, target_layers=30) for who in (None, OLD, NEW, VLLM)}
    assert [each.input_norm for each in read.values()] == [True, False, True, True]
    assert [each.fc_norm for each in read.values()] == [True, True, True, False]


def test_what_the_aux_ids_mean() -> None:
    assert reading(EAGLE3, steps=2).aux_ids == reading(EAGLE3, OLD, steps=2).aux_ids == (1, 4, 6)
    # vLLM looks for them at the top level, where they lie before the layer of that number.
    top = {key: value for key, value in EAGLE3.items() if key != "eagle_config"} | {IDS: [2, 5, 7]}
    assert reading(top, VLLM, steps=2).aux_ids == reading(top, steps=2).aux_ids == (1, 4, 6)
    assert reading(EAGLE3, VLLM, steps=2, target_layers=30).aux_ids == (1, 14, 26)
    bare = {key: value for key, value in EAGLE3.items() if key != "eagle_config"}
    for who in (None, OLD, VLLM):
        assert reading(bare, who, steps=2, target_layers=30).aux_ids == (1, 14, 26)
        with pytest.raises(NoReferenceError, match="target"):
            reading(bare, who, steps=2)


def test_readings_agree_on_a_plain_config() -> None:
    plain = reading(EAGLE3, steps=2)
    assert replace(reading(EAGLE3, NEW, steps=2), engine=None, file_embedding=True) == plain


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"num_hidden_layers": 2}, "more than one layer"),
        ({"architectures": ["Eagle3DeepseekV2ForCausalLM"]}, "latent attention"),
        ({"architectures": ["Eagle3Qwen3ForCausalLM"]}, "Qwen3"),
        ({"attention_bias": True}, "attention_bias"),
        ({"tie_word_embeddings": True}, "tied"),
        ({"layer_types": ["sliding_attention"]}, "sliding window"),
        ({"num_aux_hidden_states": 4}, "3 aux layers are tapped, and fc reads 4"),
        ({"draft_vocab_size": None, "target_hidden_size": 40}, "no head of its own"),
        ({"rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}, "mrope_section"),
    ],
)
def test_what_has_no_reference_says_what_it_is(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(NoReferenceError, match=said):
        reading(EAGLE3 | changes, steps=2)


def test_a_chain_needs_the_number_of_its_steps() -> None:
    with pytest.raises(UsageError, match="launch command"):
        reference(EAGLE3, weights_of(EAGLE3))
