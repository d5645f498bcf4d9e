"""Reference forward passes: what a draft proposes, from its file and recorded states of its target.

One module per family, in plain torch: ``dflash`` and ``eagle3``. A *reading* is what a trainer or one engine
version makes of config.json (aux layers, block size, rope, windows); the same weights under two readings
give two answers, and the difference is what a hazard costs.

    draft = reference(config, weights, engine=("sglang", "0.5.14"))
    tokens = draft.proposals(context, tokens, anchors, embed, lm_head)

Letters in shapes: n tokens of a conversation, m anchors, K aux layers, H hidden, T the target's hidden, V
vocabulary, D draft vocabulary, s proposals per verify step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from zoo.drafts.family import family_of
from zoo.errors import UsageError, ZooError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# An engine and its version, as a profile pins it: ("sglang", "0.5.14").
Engine = tuple[str, str]
FAMILIES = ("dflash", "eagle3")


class NoReferenceError(ZooError):
    """There is no reference forward pass for this draft, or none under this engine's reading."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"not checked: {reason}",
            hint=f"replay runs drafts of {' and '.join(FAMILIES)}; docs/replay.md lists what they may state",
        )


class Reference(Protocol):
    """A draft that can be replayed."""

    @property
    def aux_ids(self) -> tuple[int, ...]:
        """The target layers whose outputs make the context, in the order of the columns of ``fc``: i is the
        output after layer i, -1 the embedding."""

    @property
    def proposals_per_step(self) -> int:
        """s: the tokens proposed in one verify step."""

    def proposals(
        self, context: Tensor, tokens: Tensor, anchors: Tensor, embed: Tensor, lm_head: Tensor
    ) -> Tensor:
        """The greedy proposals [m, s] int64 for tokens a+1 to a+s after each anchor a.

        Args:
            context: the target's states after ``aux_ids``, side by side, [n, K*T]. At anchor a only the rows
                before a are looked at.
            tokens: the conversation, [n] int64; nothing after an anchor is looked at.
            anchors: positions of tokens that are known when the draft is asked, [m] int64, 1 to n-1.
            embed: the target's input embedding [V, T], on the device of the draft.
            lm_head: the target's head [V, T], likewise.
        """


def family_with_reference(config: Mapping[str, Any]) -> str:
    """``dflash`` or ``eagle3``.

    Raises:
        NoReferenceError: the config is that of another family, or of none.
    """
    family = family_of(config)
    if family is None:
        raise NoReferenceError("no reference for this family: config.json is of no family that zoo knows")
    if family.name not in FAMILIES:
        raise NoReferenceError(f"no reference for this family ({family.title})")
    return family.name


def reference(
    config: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    engine: Engine | None = None,
    *,
    target_layers: int | None = None,
    steps: int | None = None,
    device: torch.device | str = "cpu",
    dtype: torch.dtype | None = None,
) -> Reference:
    """The draft of this config and these weights, under the reading of ``engine`` (None: of its trainers).

    ``target_layers`` is the target's depth, for configs that leave the aux layers to the engine. ``steps`` is
    the number of proposals of a chain (EAGLE3), which only the launch command knows. ``dtype`` is float32
    unless given.

    Raises:
        NoReferenceError: another family, or a config that the reference does not cover.
        UnreadableError: a tensor is missing or has another shape than the config says.
        UsageError: a chain without ``steps``.
    """
    import torch

    from zoo.replay.reference import dflash, eagle3

    kind = torch.float32 if dtype is None else dtype
    if family_with_reference(config) == "dflash":
        return dflash.DFlash(
            weights, dflash.reading(config, engine, target_layers=target_layers), device, kind
        )
    if steps is None:
        raise UsageError(
            "an EAGLE3 draft proposes as many tokens as its launch command says",
            hint="state the number of draft steps (SGLang: --speculative-num-steps)",
        )
    read = eagle3.reading(config, engine, steps=steps, target_layers=target_layers)
    return eagle3.Eagle3(weights, read, device, kind)
