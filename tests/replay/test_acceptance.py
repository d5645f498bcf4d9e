"""Acceptance is counted as a server counts it, to the last step of the reference loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.replay.reference_kit import TINY, tiny, tiny_draft
from zoo.replay.acceptance import Acceptance, Counts, accept, pooled


def test_counts_are_ratios_of_sums() -> None:
    counts = Counts((1, 2, 0, 3))
    assert (counts.steps, counts.correct) == (6, 11)
    assert counts.accept_length == 1 + 11 / 6
    assert counts.by_position == (5 / 6, 3 / 6, 3 / 6)
    assert sum(counts.by_position) == pytest.approx(counts.correct / counts.steps)
    assert counts.expected_accept_length is None
    both = pooled([Counts((1, 0, 1), 1.5, 2.0), Counts((0, 4, 0), 0.5, 0.5)])
    assert both == Counts((1, 4, 1), 2.0, 2.5)
    assert both.expected_accept_length == (1 + 2.0 / 6, 1 + 2.5 / 6)
    assert pooled([both, Counts((1, 0, 0))]) == Counts((2, 4, 1))


def test_no_steps_are_an_accept_length_of_one() -> None:
    assert Counts((0, 0)).accept_length == 1.0
    assert Counts((0, 0)).by_position == (0.0,)
    assert Counts((0, 0), 0.0, 0.0).expected_accept_length is None
    assert pooled([]).steps == 0


def test_blocks_of_different_sizes_are_not_added_up() -> None:
    with pytest.raises(ValueError, match="argument"):
        pooled([Counts((1, 0)), Counts((1, 0, 0))])


@dataclass(frozen=True)
class Says:
    """A draft that proposes what a function of the last token says, again and again."""

    follow: Callable[[int], int]
    proposals_per_step: int
    aux_ids: tuple[int, ...] = (0,)

    def proposals(self, context: Any, tokens: Any, anchors: Any, embed: Any, lm_head: Any) -> Any:
        import torch

        rows = []
        for token in tokens[anchors].tolist():
            row = [token]
            for _ in range(self.proposals_per_step):
                row.append(self.follow(row[-1]))
            rows.append(row[1:])
        return torch.tensor(rows, dtype=torch.int64).view(-1, self.proposals_per_step)


def judged(
    follow: Callable[[int], int], tokens: list[int], prompt: int, size: int, **given: Any
) -> Acceptance:
    import torch

    table = torch.zeros(100, 4)
    return accept(
        Says(follow, size), torch.zeros(len(tokens), 4), torch.tensor(tokens), prompt, table, table, **given
    )


@pytest.mark.torch
def test_proposals_are_accepted_up_to_the_first_that_is_not_in_the_record() -> None:
    found = judged(lambda token: token + 1, [9, 9, 1, 2, 3, 7, 8, 1, 2, 5, 6, 7], prompt=2, size=3)
    assert found.first == 2
    assert found.accepted.tolist() == [2, 1, 0, 1, 0, 1, 0]
    assert found.every().histogram == (3, 3, 1, 0)


@pytest.mark.torch
def test_a_walk_jumps_over_what_was_accepted_and_the_targets_own_token() -> None:
    tokens = [9, 9, 1, 2, 3, 7, 8, 1, 2, 5, 6, 7]
    found = judged(lambda token: token + 1, tokens, prompt=2, size=3)
    # From 1 at position 2: 2 and 3 are accepted and 7 is the target's; from 7: 8, then 1; from 1: 2, then 5.
    assert found.walked(2) == [0, 3, 5]
    assert found.walk(2) == Counts((0, 2, 1, 0))
    assert found.walked(2, end=7) == [0, 3]
    assert found.walk(2, end=2).steps == found.walk(2, end=0).steps == 0
    assert found.every(end=4).histogram == (0, 1, 1, 0)


@pytest.mark.torch
def test_no_anchor_has_a_block_that_leaves_the_record() -> None:
    found = judged(lambda token: token + 1, list(range(10)), prompt=4, size=3)
    assert found.accepted.tolist() == [3, 3, 3]
    assert found.walk(4) == Counts((0, 0, 0, 1))
    short = judged(lambda token: token + 1, list(range(6)), prompt=4, size=3)
    assert short.walk(4) == short.every() == Counts((0, 0, 0, 0))


def chances(seed: int = 3) -> Any:
    """A target that is a Markov chain over 4 tokens: row t is the distribution after token t."""
    import torch

    return (2 * torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))).softmax(-1)


def ask(tokens: list[int], matrix: Any, temperature: float, size: int = 3) -> Acceptance:
    """The record ``tokens`` of the chain, judged with its probabilities: the state of a token is its row."""
    import torch

    given = torch.tensor(tokens)
    final = torch.nn.functional.one_hot(given, 4).float()
    draft = Says(lambda token: (token + 1) % 4, size)
    head = matrix.log().T.contiguous()
    return accept(draft, final, given, 1, final, head, final=final, temperature=temperature)


@pytest.mark.torch
def test_on_records_that_the_target_drew_both_estimates_are_unbiased() -> None:
    """Over all continuations, each with its probability, against the product that defines the expectation."""
    matrix = chances()
    exact, product, token = 0.0, 1.0, 1
    for _ in range(3):
        product *= float(matrix[token, (token + 1) % 4])
        token = (token + 1) % 4
        exact += product
    counted = estimated = 0.0
    for drawn in itertools.product(range(4), repeat=3):
        weight, last = 1.0, 1
        for token in drawn:
            weight *= float(matrix[last, token])
            last = token
        found = ask([0, 1, *drawn], matrix, temperature=1.0)
        least, most = found.expected() or (None, None)
        assert least is most
        counted += weight * int(found.accepted[0])
        estimated += weight * float(least[0])
    assert counted == pytest.approx(exact, rel=1e-5)
    assert estimated == pytest.approx(exact, rel=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(6))
def test_on_a_greedy_record_the_bounds_hold_the_expectation(seed: int) -> None:
    matrix = chances(seed)
    tokens = [0, 1]
    for _ in range(3):
        tokens.append(int(matrix[tokens[-1]].argmax()))
    exact, product, token = 0.0, 1.0, 1
    for _ in range(3):
        product *= float(matrix[token, (token + 1) % 4])
        token = (token + 1) % 4
        exact += product
    found = ask(tokens, matrix, temperature=0.0)
    least, most = found.expected() or (None, None)
    assert float(least[0]) - 1e-6 <= exact <= float(most[0]) + 1e-6
    if int(found.accepted[0]) >= 2:  # then every probability is known
        assert float(least[0]) == pytest.approx(float(most[0]))


@pytest.mark.torch
def test_the_temperature_is_that_of_the_record() -> None:
    matrix = chances()
    warm, hot = (ask([0, 1, 2, 3, 0], matrix, temperature=each) for each in (1.0, 2.0))
    assert float(warm.probability[0, 0]) == pytest.approx(float(matrix[1, 2]))
    softer = matrix[1].sqrt() / matrix[1].sqrt().sum()
    assert float(hot.probability[0, 0]) == pytest.approx(float(softer[2]))


@pytest.mark.torch
def test_without_final_states_or_a_known_temperature_nothing_is_expected() -> None:
    import torch

    found = judged(lambda token: token + 1, list(range(10)), prompt=4, size=3)
    assert found.expected() is None
    assert found.walk(4).expected_accept_length is None
    unknown = judged(
        lambda token: token + 1, list(range(10)), 4, 3, final=torch.zeros(10, 4), temperature=None
    )
    assert unknown.probability is None


@dataclass(frozen=True)
class Pair:
    """The tiny target, its prompts by domain, and the modules of the reference loop."""

    target: Any
    end_token: int
    loop: Any
    prompts: Callable[[str, int], list[Any]]

    def recorded(self, tokens: list[int], aux_ids: tuple[int, ...]) -> tuple[Any, Any]:
        """Context and final states of a conversation, by one forward pass of transformers."""
        import torch

        with torch.inference_mode():
            out = self.target(torch.tensor([tokens]), output_hidden_states=True)
        return torch.cat([out.hidden_states[layer + 1][0] for layer in aux_ids], -1), out.hidden_states[-1][0]

    def accept(self, draft: Any, tokens: list[int], prompt: int, temperature: float) -> Acceptance:
        import torch

        context, final = self.recorded(tokens, draft.aux_ids)
        embed, head = self.target.get_input_embeddings().weight, self.target.lm_head.weight
        given = torch.tensor(tokens)
        return accept(draft, context, given, prompt, embed, head, final=final, temperature=temperature)


@pytest.fixture(scope="module")
def pair() -> Pair:
    pytest.importorskip("torch", reason="needs the torch extra")
    import torch
    import transformers

    loop, data, tokenizer = tiny("reference", "data", "tokenizer")
    encoder = transformers.AutoTokenizer.from_pretrained(TINY / "target")

    def prompts(domain: str, number: int) -> list[Any]:
        found = data.held_out_prompts(domain, number)
        return [torch.tensor([tokenizer.encode(encoder, each, add_generation_prompt=True)]) for each in found]

    return Pair(loop.load_target(TINY / "target"), encoder.eos_token_id, loop, prompts)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "domain"), [("tiny-ft", "agent"), ("tiny-ft", "story"), ("base", "agent")])
def test_the_walk_at_temperature_0_is_the_reference_loop_step_for_step(
    pair: Pair, name: str, domain: str
) -> None:
    draft, plain = tiny_draft(name), pair.loop.load_draft(TINY / name)
    theirs: list[int] = []
    ours: list[Counts] = []
    for prompt in pair.prompts(domain, 12):
        theirs += pair.loop.generate(pair.target, plain, prompt, 48, eos_token_id=pair.end_token)[1]
        # The last step counts in full there, so the record goes on for one block after the last token.
        grown = pair.loop.greedy(pair.target, prompt, 48 + draft.proposals_per_step)
        start = prompt.shape[1]
        last = min(47, grown.index(pair.end_token) if pair.end_token in grown else 47)
        found = pair.accept(draft, prompt[0].tolist() + grown, start, temperature=0.0)
        ours.append(found.walk(start, end=start + last))
    together = pooled(ours)
    assert together.histogram == tuple(theirs.count(accepted) for accepted in range(8))
    assert together.accept_length == pair.loop.accept_length(theirs)


@pytest.mark.torch
def test_the_walk_over_a_sampled_output_is_the_run_that_made_it(pair: Pair) -> None:
    """At temperature 1 the output decides what was accepted: the same steps come out of the record alone."""
    import torch

    draft, plain = tiny_draft("tiny-ft"), pair.loop.load_draft(TINY / "tiny-ft")
    generator = torch.Generator().manual_seed(5)
    compared, expected = [], []
    for prompt in pair.prompts("agent", 8):
        tokens, steps = pair.loop.generate(pair.target, plain, prompt, 96, 1.0, generator)
        found = pair.accept(draft, prompt[0].tolist() + tokens, prompt.shape[1], temperature=1.0)
        walked = [int(found.accepted[row]) for row in found.walked(prompt.shape[1])]
        assert walked == steps[: len(walked)]
        assert len(walked) >= len(steps) - 8
        compared.append(found.walk(prompt.shape[1]))
    together = pooled(compared)
    expected = together.expected_accept_length
    assert expected is not None
    assert expected[0] == expected[1] == pytest.approx(together.accept_length, rel=0.1)


@pytest.mark.torch
def test_shifted_aux_layers_and_a_dead_draft_are_seen(pair: Pair) -> None:
    import json

    from safetensors.torch import load_file

    from zoo.replay.reference import reference

    config = json.loads((TINY / "tiny-ft" / "config.json").read_text())
    weights = load_file(TINY / "tiny-ft" / "model.safetensors")
    block = config["dflash_config"]
    shifted = config | {
        "dflash_config": block | {"target_layer_ids": [each - 1 for each in block["target_layer_ids"]]}
    }
    dead = weights | {"fc.weight": weights["fc.weight"] * 0}
    drafts = [reference(config, weights), reference(shifted, weights), reference(config, dead)]
    counts: list[list[Counts]] = [[], [], []]
    for prompt in pair.prompts("agent", 4):
        tokens = prompt[0].tolist() + pair.loop.greedy(pair.target, prompt, 48)
        for draft, found in zip(drafts, counts, strict=True):
            found.append(pair.accept(draft, tokens, prompt.shape[1], temperature=0.0).every())
    healthy, moved, zeroed = (pooled(found).accept_length for found in counts)
    assert zeroed < 1.5 < healthy
    assert moved < healthy - 0.5
