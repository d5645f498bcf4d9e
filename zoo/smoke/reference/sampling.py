"""Choosing tokens: the target's distribution under a request's settings, and which proposals it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Sampling:
    """``top_k`` -1: all tokens. ``stops`` are token ids that end an answer beside the target's own."""

    max_new_tokens: int = 128
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    ignore_eos: bool = False
    stops: frozenset[int] = frozenset()

    @property
    def greedy(self) -> bool:
        return self.temperature == 0 or self.top_k == 1


def verify(
    proposed: Sequence[int], logits: Tensor, sampling: Sampling, generator: torch.Generator
) -> tuple[int, int]:
    """How many of ``proposed`` [s] the target accepts, and the token that it gives after them.

    Row i of ``logits`` [s+1, V] is what the target says after i proposals. Greedy: a proposal is accepted
    while it is the likeliest token. Sampling: with its probability under the target; at the first that is
    refused, the token comes from the rest of the distribution, without it. As the proposals are a point mass,
    the output is distributed as the target's own (https://arxiv.org/abs/2211.17192; SGLang 0.5.14,
    speculative/dflash_utils.py).
    """
    if sampling.greedy:
        best: list[int] = logits.argmax(-1).tolist()
        accepted = next((at for at, token in enumerate(proposed) if token != best[at]), len(proposed))
        return accepted, best[accepted]
    chances = distribution(logits, sampling)
    for accepted, token in enumerate(proposed):
        if torch.rand((), generator=generator) < chances[accepted, token]:
            continue
        rest = chances[accepted].clone()
        rest[token] = 0
        if rest.sum() > 0:  # not where rounding left nothing but the proposal
            return accepted, _drawn(rest, generator)
    return len(proposed), _drawn(chances[-1], generator)


def distribution(logits: Tensor, sampling: Sampling) -> Tensor:
    """Probabilities [n, V]: temperature, then top_k, then top_p of what is left."""
    chances = (logits / sampling.temperature).softmax(-1)
    if 0 < sampling.top_k < chances.shape[-1]:
        least = chances.topk(sampling.top_k, dim=-1).values[:, -1:]
        chances = chances.where(chances >= least, 0)
        chances = chances / chances.sum(-1, keepdim=True)
    if sampling.top_p < 1:
        ranked, order = chances.sort(-1, descending=True)
        # A token stays while those before it have less than top_p: the likeliest always does.
        ranked = ranked.where(ranked.cumsum(-1) - ranked < sampling.top_p, 0)
        chances = torch.zeros_like(chances).scatter(-1, order, ranked)
        chances = chances / chances.sum(-1, keepdim=True)
    return chances


def _drawn(weights: Tensor, generator: torch.Generator) -> int:
    return int(torch.multinomial(weights, 1, generator=generator))
