"""Served = replayed: over the tokens of a loop with the target, replay counts what the loop counted."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.replay.reference_kit import TINY, tiny
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.replay.acceptance import pooled
from zoo.smoke import replayed as module
from zoo.smoke.replayed import NotReplayed, Replayed, ServedTokens, replay_served
from zoo.sources import Sources
from zoo.workspace import find_zoo

pytest.importorskip("torch", reason="needs the torch extra")
pytest.importorskip("transformers", reason="needs the torch extra")
pytestmark = pytest.mark.torch
TARGET = TINY / "target"
# 17 and 30 tokens end in the middle of a block, 90 are more than most stories take to their end token.
LIMITS = (17, 30, 90)


@dataclass(frozen=True)
class Loop:
    """What the loop with the target gave, and the histogram of each request."""

    served: tuple[ServedTokens, ...]
    histograms: tuple[tuple[int, ...], ...]


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return usable_recipe(find_zoo(REPOSITORY), "tiny-ft")


@pytest.fixture(scope="module")
def serve() -> Callable[..., Loop]:
    """Serve held-out prompts of both domains with examples/tiny/reference.py, in float32."""
    import torch
    import transformers

    data, reference, words = tiny("data", "reference", "tokenizer")
    target = reference.load_target(TARGET)
    tokenizer = transformers.AutoTokenizer.from_pretrained(TARGET)

    def serve(draft: Path, temperature: float = 0.0) -> Loop:
        loaded, seed = reference.load_draft(draft), torch.Generator().manual_seed(5)
        served, histograms = [], []
        for domain in data.DOMAINS:
            for messages, limit in zip(data.held_out_prompts(domain, 3), LIMITS, strict=True):
                ids = words.encode(tokenizer, messages, add_generation_prompt=True)
                tokens, accepted = reference.generate(
                    target, loaded, torch.tensor([ids]), limit, temperature, seed, tokenizer.eos_token_id
                )
                served.append(ServedTokens(tuple(ids), tuple(tokens)))
                histograms.append(tuple(accepted.count(k) for k in range(8)))
        return Loop(tuple(served), tuple(histograms))

    return serve


@pytest.fixture
def replay(recipe: Recipe, tmp_path: Path) -> Callable[..., Replayed | NotReplayed]:
    def replay(served: tuple[ServedTokens, ...], draft: Path = TINY / "tiny-ft", **changed: Any) -> Any:
        named: dict[str, Any] = {"target": TARGET, "recipe": recipe, "engine": None, "dtype": "float32"}
        named |= changed
        return replay_served(
            named["recipe"],
            Sources().open(str(draft)),
            named["target"],
            served,
            engine=named["engine"],
            device="cpu",
            dtype=named["dtype"],
            work=tmp_path,
        )

    return replay


@pytest.fixture(scope="module")
def loop(serve: Callable[..., Loop]) -> Loop:
    return serve(TINY / "tiny-ft")


def test_the_counts_are_those_of_the_loop_to_the_last_cut_step(
    loop: Loop, replay: Any, tmp_path: Path
) -> None:
    found = replay(loop.served)
    assert isinstance(found, Replayed)
    assert tuple(counts.histogram for counts in found.requests) == loop.histograms
    assert found.walk == pooled(found.requests)
    assert found.walk.steps == sum(map(sum, loop.histograms)) > 30
    assert found.agreed == found.tokens == sum(len(each.output_ids) for each in loop.served)
    # Some were cut by their limit and some by an end token, so both ends are covered.
    ended = [each.output_ids[-1] == 0 for each in loop.served]
    assert any(ended)
    assert not all(ended)
    assert list(tmp_path.iterdir()) == []


def test_the_engine_reads_this_draft_as_its_trainer(loop: Loop, replay: Any) -> None:
    assert replay(loop.served, engine=("sglang", "0.5.14")) == replay(loop.served)


def test_a_draft_that_was_served_wrongly_is_replayed_as_it_was_served(
    serve: Callable[..., Loop], replay: Any, tmp_path: Path
) -> None:
    """Its aux layers are in another order in the config that the server got: fewer are accepted, and equally
    many in replay."""
    shifted = tmp_path / "shifted"
    shifted.mkdir()
    config = json.loads((TINY / "tiny-ft" / "config.json").read_text())
    config["dflash_config"]["target_layer_ids"] = [2, 1, 0]
    (shifted / "config.json").write_text(json.dumps(config))
    shutil.copy(TINY / "tiny-ft" / "model.safetensors", shifted)
    loop = serve(shifted)
    found = replay(loop.served, shifted)
    assert tuple(counts.histogram for counts in found.requests) == loop.histograms
    assert found.walk.accept_length < replay(loop.served).walk.accept_length


def test_sampled_output_has_the_same_steps_and_differs_in_the_last_of_each_request_at_most(
    serve: Callable[..., Loop], replay: Any
) -> None:
    loop = serve(TINY / "tiny-ft", 1.0)
    found = replay(loop.served)
    assert [counts.steps for counts in found.requests] == [sum(each) for each in loop.histograms]
    for counts, theirs in zip(found.requests, loop.histograms, strict=True):
        moved = sum(abs(a - b) for a, b in zip(counts.histogram, theirs, strict=True))
        assert moved in (0, 2)  # one step, counted elsewhere
    assert found.agreed < found.tokens


def test_bfloat16_is_near_float32(loop: Loop, replay: Any) -> None:
    exact, rounded = replay(loop.served).walk, replay(loop.served, dtype="bfloat16").walk
    assert rounded.accept_length == pytest.approx(exact.accept_length, rel=0.1)


def test_a_request_of_one_token_has_no_step(loop: Loop, replay: Any) -> None:
    first = loop.served[0]
    one = ServedTokens(first.input_ids, first.output_ids[:1])
    found = replay((one, *loop.served[1:]))
    assert found.requests[0].steps == 0
    assert tuple(each.histogram for each in found.requests[1:]) == loop.histograms[1:]


def test_the_target_may_be_absent_another_or_too_large(
    loop: Loop, replay: Any, tmp_path: Path, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no folder" in replay(loop.served, target=tmp_path / "nowhere").reason
    other = dataclasses.replace(recipe, target=dataclasses.replace(recipe.target, layers=5))
    assert "has layers 4" in replay(loop.served, recipe=other).reason
    monkeypatch.setattr(module, "_free", lambda device: 1_000_000)
    assert replay(loop.served).reason.startswith("the target takes 0.0 GB of cpu memory in this dtype, and")


def test_a_draft_without_a_reference_is_not_replayed(loop: Loop, replay: Any, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Medusa"], "medusa_num_heads": 2}))
    assert replay(loop.served, tmp_path).reason.startswith("no reference for this family")


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        (ServedTokens((1, 2), ()), "served request 1 has no output"),
        (ServedTokens((), (1, 2)), "served request 1 has no prompt"),
        (ServedTokens((1, 2), (512,)), "served request 1 has a token id outside the vocabulary of 512"),
        (ServedTokens((1,) * 4090, (2,)), "served request 1 leaves no room for a block"),
    ],
)
def test_tokens_that_the_target_cannot_have_given_are_refused(
    loop: Loop, replay: Any, tokens: ServedTokens, reason: str
) -> None:
    found = replay((loop.served[0], tokens))
    assert isinstance(found, NotReplayed)
    assert found.reason.startswith(reason)


def test_without_torch_or_transformers_the_reason_says_so(
    loop: Loop, replay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert replay(loop.served).reason.startswith("replay needs torch and transformers")
