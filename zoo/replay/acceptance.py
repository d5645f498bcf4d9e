"""Which proposals of a draft a target accepts, from a recorded conversation, and a server's walk over them.

The record is the judge: a proposal is accepted while it equals the recorded token. On a greedy record that is
verification at temperature 0. On a record that the target sampled, it is verification at that temperature: a
target that accepts a proposal x with its probability p(x), and otherwise draws from the rest, without x,
accepts exactly where its output is x (https://arxiv.org/abs/2211.17192 with a draft that is a point mass,
which is what SGLang does). docs/replay.md has the definitions.

    found = accept(draft, context, tokens, prompt_length, embed, lm_head)
    found.walk(prompt_length).accept_length

Letters in shapes as in ``zoo.replay.reference``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from zoo.replay.reference import Reference

_ROWS = 256  # of logits at a time


@dataclass(frozen=True, slots=True)
class Counts:
    """Verify steps and what was accepted in them. ``histogram[k]`` is the number of steps that accepted k.

    ``expected`` and ``expected_most`` bound the expected number of accepted proposals over the same steps
    where the target samples (``Acceptance.expected``); None where final states were not recorded.
    """

    histogram: tuple[int, ...]
    expected: float | None = None
    expected_most: float | None = None

    @property
    def steps(self) -> int:
        return sum(self.histogram)

    @property
    def correct(self) -> int:
        """Accepted proposals."""
        return sum(accepted * steps for accepted, steps in enumerate(self.histogram))

    @property
    def accept_length(self) -> float:
        """1 + accepted proposals / verify steps; 1.0 for no steps."""
        return 1 + self.correct / self.steps if self.steps else 1.0

    @property
    def expected_accept_length(self) -> tuple[float, float] | None:
        """The same from ``expected`` and ``expected_most``."""
        if self.expected is None or self.expected_most is None or not self.steps:
            return None
        return 1 + self.expected / self.steps, 1 + self.expected_most / self.steps

    @property
    def by_position(self) -> tuple[float, ...]:
        """The share of steps that accepted at least 1, 2, ... proposals; the last is the whole block."""
        if not self.steps:
            return (0.0,) * (len(self.histogram) - 1)
        return tuple(sum(self.histogram[least:]) / self.steps for least in range(1, len(self.histogram)))


def pooled(counts: Iterable[Counts]) -> Counts:
    """The sum of counts: ratios over it are ratios of sums. Of no counts, one without any step.

    Raises:
        ValueError: the counts are of different block sizes.
    """
    all_counts = list(counts)
    histograms = [each.histogram for each in all_counts]
    least = [each.expected for each in all_counts]
    most = [each.expected_most for each in all_counts]
    return Counts(
        tuple(sum(column) for column in zip(*histograms, strict=True)) or (0,),
        None if None in least else sum(each for each in least if each is not None),
        None if None in most else sum(each for each in most if each is not None),
    )


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of the proposals at every anchor of one conversation.

    ``first`` is the first anchor; the others follow without a gap. ``accepted`` [m] int64: how many proposals
    equal the record before the first that does not. ``probability`` [m, s] float64: the target's probability
    of proposal k after the recorded tokens; it is known for k <= accepted + 1 (the proposals before k equal
    the record) and 0 elsewhere. None where final states were not recorded. ``sampled``: whether the target
    drew the record, or took its likeliest tokens.
    """

    first: int
    proposals: Tensor
    accepted: Tensor
    probability: Tensor | None
    sampled: bool

    def expected(self) -> tuple[Tensor, Tensor] | None:
        """Bounds [m] of the expected number of accepted proposals where the target samples.

        On a sampled record both are the same, and unbiased: the chance of proposal k, counted where the
        record agreed with all before it, which varies less than counting agreement. On a greedy record they
        are exact up to the first disagreement: the product of the probabilities, and at most as much again
        for each of the positions after it.
        """
        if self.probability is None:
            return None
        if self.sampled:
            total = self.probability.sum(-1)
            return total, total
        reached = self.probability.cumprod(-1)
        beyond = (self.proposals.shape[1] - 1 - self.accepted).clamp(min=0)
        at_first = reached.gather(1, self.accepted.clamp(max=self.proposals.shape[1] - 1)[:, None])[:, 0]
        return reached.sum(-1), reached.sum(-1) + at_first * beyond

    def every(self, end: int | None = None) -> Counts:
        """One verify step at every anchor before ``end`` (None: at every anchor there is)."""
        return self._counts(list(range(self._rows_before(end))))

    def walk(self, start: int, end: int | None = None) -> Counts:
        """The verify steps of a server that drafts from position ``start`` on: each accepts what it accepts
        and gets one more token from the target, which is the next anchor.

        A step begins at an anchor before ``end`` and counts in full. ``end`` None: at every anchor there is.
        """
        return self._counts(self.walked(start, end))

    def walked(self, start: int, end: int | None = None) -> list[int]:
        """The rows of the anchors of :meth:`walk`."""
        accepted: list[int] = self.accepted.tolist()
        last = self._rows_before(end)
        row, visited = start - self.first, list[int]()
        while row < last:
            visited.append(row)
            row += accepted[row] + 1
        return visited

    def _rows_before(self, end: int | None) -> int:
        return len(self.accepted) if end is None else min(len(self.accepted), max(0, end - self.first))

    def _counts(self, rows: list[int]) -> Counts:
        found: list[int] = self.accepted[rows].tolist()
        histogram = tuple(found.count(accepted) for accepted in range(self.proposals.shape[1] + 1))
        bounds = self.expected()
        if bounds is None:
            return Counts(histogram)
        return Counts(histogram, float(bounds[0][rows].sum()), float(bounds[1][rows].sum()))


def accept(
    draft: Reference,
    context: Tensor,
    tokens: Tensor,
    prompt_length: int,
    embed: Tensor,
    lm_head: Tensor,
    *,
    final: Tensor | None = None,
    temperature: float | None = 0.0,
) -> Acceptance:
    """Ask ``draft`` at every anchor of a conversation and compare with what the record says.

    Anchors are the positions from ``prompt_length`` (the first token of the continuation, which the prefill
    gives) to n - 1 - s: every block lies within the record, so that which anchors count does not depend on
    what is accepted. To count the steps of the last tokens as well, record s more of them.

    Args:
        context: the target's states after ``draft.aux_ids``, [n, K*T].
        tokens: prompt and continuation [n].
        embed: the target's embedding [V, T] and ``lm_head`` its head [V, T], on the draft's device.
        final: the target's final normed states [n, T], for probabilities; None: without.
        temperature: with which the continuation was drawn, 0 for greedy. None (nobody knows) leaves the
            probabilities out.
    """
    import torch

    size = draft.proposals_per_step
    anchors = torch.arange(prompt_length, max(prompt_length, len(tokens) - size))
    proposals = draft.proposals(context, tokens, anchors, embed, lm_head).cpu()
    after = anchors[:, None] + 1 + torch.arange(size)
    accepted = (proposals == tokens.cpu()[after]).long().cumprod(-1).sum(-1)
    probability = None
    if final is not None and temperature is not None:
        probability = _probabilities(proposals, anchors, accepted, final, lm_head, temperature or 1.0)
    return Acceptance(prompt_length, proposals, accepted, probability, bool(temperature))


def _probabilities(
    proposals: Tensor, anchors: Tensor, accepted: Tensor, final: Tensor, lm_head: Tensor, temperature: float
) -> Tensor:
    """p(proposal k) after the record, [m, s] float64 on the CPU; 0 where the record took another way before.

    The distribution of token a + k comes from the final state of the token before it.
    """
    import torch

    known = torch.arange(proposals.shape[1]) <= accepted[:, None]
    found = torch.zeros(proposals.shape, dtype=torch.float64)
    rows = (anchors[:, None] + torch.arange(proposals.shape[1]))[known].to(lm_head.device)
    wanted = proposals[known].to(lm_head.device)
    states = final.to(lm_head.device, lm_head.dtype)
    chances: list[Tensor] = []
    # Each state is read by up to s anchors: its logits are made once, and never all at a time.
    order = rows.argsort()
    for some in torch.split(order, _ROWS):
        distinct, which = torch.unique_consecutive(rows[some], return_inverse=True)
        logits = (states[distinct] @ lm_head.T).float() / temperature
        chances.append(logits.log_softmax(-1)[which, wanted[some]])
    flat = torch.empty(len(rows), dtype=torch.float64)
    if chances:
        flat[order.cpu()] = torch.cat(chances).exp().double().cpu()
    found[known] = flat
    return found
