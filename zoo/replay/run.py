"""Running one draft over a trace: at every anchor, and in the walk of a server, per conversation.

recorded = Recorded.of(open_trace(folder), "cpu", torch.float32)
draft = Draft.of(checkpoint, recorded)
rows = run(draft.made(draft.reading()), recorded)
pooled(row.walk for row in rows if row.domain == recorded.main).accept_length
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted
from zoo.replay.acceptance import Counts, accept
from zoo.replay.reference import Engine, Reference, family_with_reference

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from zoo.checkpoint.model import Checkpoint
    from zoo.replay.reference import dflash, eagle3
    from zoo.replay.trace import Conversation, Trace

    Reading = dflash.Reading | eagle3.Reading


@dataclass(frozen=True)
class Recorded:
    """The conversations to replay, and the target's embedding and head on the device."""

    trace: Trace
    conversations: tuple[Conversation, ...]
    embed: Tensor
    lm_head: Tensor
    device: str
    dtype: torch.dtype

    @staticmethod
    def of(trace: Trace, device: str, dtype: torch.dtype, top: int | None = None) -> Recorded:
        """``top``: only the first so many conversations of each domain."""
        kept, seen = [], dict[str, int]()
        for each in trace.conversations:
            seen[each.domain] = seen.get(each.domain, 0) + 1
            if top is None or seen[each.domain] <= top:
                kept.append(each)
        return Recorded(
            trace, tuple(kept), trace.embed(device, dtype), trace.lm_head(device, dtype), device, dtype
        )

    @property
    def main(self) -> str:
        return self.trace.domain

    @property
    def domains(self) -> tuple[str, ...]:
        """The main one first."""
        found = dict.fromkeys(each.domain for each in self.conversations)
        return (self.main, *(each for each in found if each != self.main))

    def only(self, domain: str) -> Recorded:
        """The same, of one domain."""
        kept = tuple(each for each in self.conversations if each.domain == domain)
        return Recorded(self.trace, kept, self.embed, self.lm_head, self.device, self.dtype)

    @property
    def temperature(self) -> float | None:
        """With which all continuations were drawn; None where it differs or nobody knows."""
        found = {each.temperature for each in self.conversations}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class Draft:
    """A draft as its config.json declares it. ``weights`` are on the device; ``steps`` is the length of a
    chain (EAGLE3), which only a launch command knows."""

    config: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    target_layers: int
    steps: int | None
    device: str
    dtype: torch.dtype

    @staticmethod
    def of(checkpoint: Checkpoint, recorded: Recorded, steps: int | None = None) -> Draft:
        """Raises:
        NoReferenceError: it is of a family that has no reference.
        UnreadableError: no config.json, or weights that cannot be read.
        UsageError: the draft is not for the target of the trace.
        """
        from zoo.replay.reference.weights import read_weights

        if checkpoint.config is None:
            raise UnreadableError(
                f"{quoted(checkpoint.source)} has no config.json that can be read", hint="run: zoo verify"
            )
        if family_with_reference(checkpoint.config) == "eagle3" and steps is None:
            raise UsageError(
                "an EAGLE3 draft proposes as many tokens as its launch command says",
                hint="state the number of draft steps (SGLang: --speculative-num-steps): --steps N",
            )
        target = recorded.trace.index["target"]
        weights = {
            name: tensor.to(recorded.device, recorded.dtype if tensor.is_floating_point() else tensor.dtype)
            for name, tensor in read_weights(checkpoint).items()
        }
        return Draft(
            checkpoint.config, weights, int(target["layers"]), steps, recorded.device, recorded.dtype
        )

    def reading(self, engine: Engine | None = None, config: Mapping[str, Any] | None = None) -> Reading:
        """What ``engine`` (None: the trainer) makes of the config, or of another ``config``."""
        from zoo.replay.reference import dflash, eagle3

        stated = self.config if config is None else config
        if family_with_reference(stated) == "dflash":
            return dflash.reading(stated, engine, target_layers=self.target_layers)
        assert self.steps is not None
        return eagle3.reading(stated, engine, steps=self.steps, target_layers=self.target_layers)

    def made(self, reading: Reading, weights: Mapping[str, Tensor] | None = None) -> Reference:
        """The draft that can be asked, with other ``weights`` where they are given."""
        from zoo.replay.reference import dflash, eagle3

        tensors = self.weights if weights is None else weights
        if isinstance(reading, dflash.Reading):
            return dflash.DFlash(tensors, reading, self.device, self.dtype)
        return eagle3.Eagle3(tensors, reading, self.device, self.dtype)


@dataclass(frozen=True, slots=True)
class Row:
    """What one conversation gave: the steps of a server's walk, and a step at every anchor."""

    name: str
    domain: str
    walk: Counts
    every: Counts

    @property
    def accepted(self) -> float:
        """Accepted proposals per step at every anchor: its accept length - 1."""
        return self.every.accept_length - 1


def run(
    draft: Reference,
    recorded: Recorded,
    *,
    lag: int = 0,
    probabilities: bool = False,
    told: Callable[[], None] | None = None,
) -> tuple[Row, ...]:
    """Ask ``draft`` at every anchor of every conversation.

    Steps begin at anchors before the last token of the continuation, as in a server: one that was given its
    last token drafts no more. ``lag``: by how many tokens the context is late. ``probabilities``: with the
    expectation where the target samples, if final states were recorded. ``told`` is called after each
    conversation.

    Raises:
        UsageError: the trace lacks a layer that the draft reads, or no conversation has a step.
    """
    rows = []
    for each in recorded.conversations:
        context = each.states(draft.aux_ids, recorded.device, recorded.dtype).flatten(1)
        final = None
        if probabilities and recorded.trace.has_final:
            final = each.final(recorded.device, recorded.dtype)
        found = accept(
            draft,
            late(context, lag),
            each.tokens,
            each.prompt_length,
            recorded.embed,
            recorded.lm_head,
            final=final,
            temperature=each.temperature,
        )
        last = each.end - 1
        rows.append(Row(each.name, each.domain, found.walk(each.prompt_length, last), found.every(last)))
        if told is not None:
            told()
    if not any(row.every.steps for row in rows):
        raise UsageError(
            f"no conversation of trace {printable(recorded.trace.name)} is longer than a block of this draft",
            hint="record longer continuations, or more tokens beyond their end: zoo trace --beyond N",
        )
    return tuple(rows)


def late(context: Tensor, lag: int) -> Tensor:
    """The context [n, K*T] where each token has the states of the one ``lag`` before it; the first tokens
    those of the very first."""
    import torch

    return context if lag == 0 else torch.cat((context[:1].expand(lag, -1), context[:-lag]))
