"""DFlash: a whole block of tokens in one pass, from mask tokens that look at the target's states.

The draft sees the states of every token before the anchor, fused by ``fc``; the block is the anchor's
embedding and ``block_size - 1`` times the mask token's. Queries come from the block, keys and values from
context and block. Position i of the output proposes token anchor + i, through the target's own head.

Sources: dflash 0.1.0, dflash/model.py (the trainer's definition; scripts/check_reference.py compares this
module with it); specforge 0.2.0, algorithms/common/dflash_family_model.py (the same masks in training);
sglang 0.5.14 and 0.5.23, models/dflash.py and speculative/dflash_utils.py; vllm 0.33.0,
models/qwen3_dflash.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, linear

from zoo.drafts.dflash import ASSISTANT_ARCHITECTURES, LAGUNA_ARCHITECTURES
from zoo.drafts.parts import names_one_of
from zoo.replay.reference import Engine, NoReferenceError
from zoo.replay.reference.config import (
    engine_reading,
    integer,
    layer_ids,
    refuse_stated,
    sizes_of,
    tapped,
    values_with_a_meaning,
    with_defaults,
)
from zoo.replay.reference.layers import Sizes, attend, greedy_tokens, rms_norm, take_layer
from zoo.replay.reference.rope import Rope, rope_of
from zoo.replay.reference.weights import Taker

_OLD_SGLANG = ("sglang", "0.5.14")
_BLOCK_SIZE = 16  # dflash 0.1.0 and SGLang, where the config states none
# Keys that change the forward pass in some reader and that this module does not follow. A softcap or a
# positive multiplier on the logits moves no argmax, so those are no reason to refuse.
_BLOCK_KEYS = (
    "attention_sink_bias attention_value_scale causal input_embedding_scale sample_from_anchor "
    "swa_window_size use_swa"
).split()
_TOP_KEYS = ("attention_sink_bias", "has_embed_tokens", "quantization_config", "use_gemma_norm")


@dataclass(frozen=True, slots=True)
class Attends:
    """What a layer's rows may look at: keys at a distance below ``window`` (None: all), and in their block
    only the tokens before them where ``causal``."""

    window: int | None
    causal: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A DFlash config as one reader takes it.

    ``aux_ids``: the target layers after which states are taken, in the order of the columns of ``fc``.
    ``layers``: one entry per draft layer. ``engine`` is whose reading it is; None is the trainer's.
    """

    aux_ids: tuple[int, ...]
    block_size: int
    mask_token_id: int
    rope: Rope
    layers: tuple[Attends, ...]
    sizes: Sizes
    attention_bias: bool
    engine: Engine | None


def reading(
    config: Mapping[str, Any], engine: Engine | None = None, *, target_layers: int | None = None
) -> Reading:
    """What ``engine`` makes of a config.json; None: its trainer, which is dflash 0.1.0 on transformers.

    Readings differ in the amplitude of rope (SGLang before 0.5.16 ignores ``mscale``), in aux layers that
    the config does not state, in ``is_causal`` (SGLang 0.5.14 ignores it) and in where a mask token may
    stand (0.5.14: only in ``dflash_config``).

    Raises:
        NoReferenceError: a variant of DFlash, or a config that this reader refuses.
        UsageError: nobody has read this engine version.
    """
    with values_with_a_meaning():
        return _read(config, engine, target_layers)


def _read(config: Mapping[str, Any], engine: Engine | None, target_layers: int | None) -> Reading:
    block = config.get("dflash_config")
    own: Mapping[str, Any] = block if isinstance(block, Mapping) else {}
    if names_one_of(config, (*LAGUNA_ARCHITECTURES, *ASSISTANT_ARCHITECTURES)):
        raise NoReferenceError("no reference for Laguna and assistant drafts, which have other tensors")
    refuse_stated(own, tuple(_BLOCK_KEYS), "dflash_config.")
    refuse_stated(config, _TOP_KEYS, "")
    seen = with_defaults(config, "qwen3")
    sizes = sizes_of(seen)
    served = engine_reading(config, engine, target_layers)
    size = None if served is None else served.block_size
    if size is None:  # vLLM's reading has none: there the command decides, and the config is what is meant
        size = _either(seen, own, "block_size")
    stated = _either(seen, own, "target_layer_ids")
    return Reading(
        aux_ids=layer_ids(stated, "target_layer_ids") if served is None else tapped(served),
        block_size=integer({"block_size": _BLOCK_SIZE if size is None else size}, "block_size"),
        mask_token_id=_mask_token(seen, own, engine),
        rope=rope_of(seen, sizes.head_dim, engine),
        layers=_layers(seen, engine),
        sizes=sizes,
        attention_bias=bool(seen.get("attention_bias")),
        engine=engine,
    )


def _either(seen: Mapping[str, Any], own: Mapping[str, Any], key: str) -> Any:
    return own.get(key, seen.get(key))


def _mask_token(seen: Mapping[str, Any], own: Mapping[str, Any], engine: Engine | None) -> int:
    token = own.get("mask_token_id") if engine == _OLD_SGLANG else _either(seen, own, "mask_token_id")
    if not isinstance(token, int) or isinstance(token, bool) or token < 0:
        raise NoReferenceError(f"the config leaves the mask token to the tokenizer (mask_token_id {token!r})")
    return token


def _layers(seen: Mapping[str, Any], engine: Engine | None) -> tuple[Attends, ...]:
    """A layer with a sliding window is causal in its block, another is not, unless ``is_causal`` says so."""
    number = integer(seen, "num_hidden_layers")
    kinds = seen.get("layer_types") or ["full_attention"] * number
    if len(kinds) < number:
        raise NoReferenceError(f"layer_types has {len(kinds)} entries for {number} layers")
    stated = seen.get("is_causal")
    if engine == _OLD_SGLANG:
        stated = None
    made = []
    for kind in kinds[:number]:
        if kind not in ("full_attention", "sliding_attention"):
            raise NoReferenceError(f"no reference for a layer of type {kind!r}")
        sliding = kind == "sliding_attention"
        made.append(
            Attends(
                window=seen.get("sliding_window") if sliding else None,
                causal=sliding if stated is None else bool(stated),
            )
        )
    return tuple(made)


class DFlash:
    """A DFlash draft under one reading. See ``zoo.replay.reference.Reference``.

    Raises:
        UnreadableError: a tensor is missing, or has another shape than the reading says.
    """

    def __init__(
        self, weights: Mapping[str, Tensor], reading: Reading, device: torch.device | str, dtype: torch.dtype
    ) -> None:
        take = Taker(weights, device, dtype)
        sizes, fused = reading.sizes, len(reading.aux_ids) * reading.sizes.hidden
        self.reading, self.device, self.dtype = reading, torch.device(device), dtype
        self.fc = take("fc.weight", sizes.hidden, fused)
        self.hidden_norm = take("hidden_norm.weight", sizes.hidden)
        self.norm = take("norm.weight", sizes.hidden)
        self.layers = [
            take_layer(
                take,
                f"layers.{index}.",
                sizes,
                width=sizes.hidden,
                bias=reading.attention_bias,
                head_norms=True,
            )
            for index in range(len(reading.layers))
        ]

    @property
    def aux_ids(self) -> tuple[int, ...]:
        return self.reading.aux_ids

    @property
    def proposals_per_step(self) -> int:
        return self.reading.block_size - 1

    def proposals(
        self,
        context: Tensor,
        tokens: Tensor,
        anchors: Tensor,
        embed: Tensor,
        lm_head: Tensor,
        batch: int = 32,
    ) -> Tensor:
        """The greedy proposals [m, s] (``Reference.proposals``); ``batch`` anchors at a time."""
        anchors, tokens = anchors.to(self.device), tokens.to(self.device)
        found = [torch.empty((0, self.proposals_per_step), dtype=torch.int64, device=self.device)]
        with torch.inference_mode():
            for states in self._batches(context, anchors, tokens[anchors], embed, batch):
                found.append(greedy_tokens(states.flatten(0, 1), lm_head).view(states.shape[:2]))
        return torch.cat(found)

    def block_states(
        self, context: Tensor, anchors: Tensor, anchor_tokens: Tensor, embed: Tensor, batch: int = 32
    ) -> Tensor:
        """The states [m, block size - 1, H] from which the target's head reads tokens a+1 and so on.

        Args:
            context: [n, K*H], of which the anchor a sees the rows before a.
            anchors: positions [m]; ``anchor_tokens`` [m] are the tokens there.
            embed: the target's input embedding [V, H].
            batch: anchors that are computed at a time; memory grows with it and not with m.
        """
        anchors, anchor_tokens = anchors.to(self.device), anchor_tokens.to(self.device)
        none = (0, self.proposals_per_step, self.reading.sizes.hidden)
        with torch.inference_mode():
            found = list(self._batches(context, anchors, anchor_tokens, embed, batch))
        return torch.cat([torch.empty(none, dtype=self.dtype, device=self.device), *found])

    def _batches(
        self, context: Tensor, anchors: Tensor, anchor_tokens: Tensor, embed: Tensor, batch: int
    ) -> Iterator[Tensor]:
        if not len(anchors):
            return
        held = self.keys_values(context)
        batches = zip(torch.split(anchors, batch), torch.split(anchor_tokens, batch), strict=True)
        for some, known in batches:
            yield self.block(held, some, known, embed)

    def keys_values(self, context: Tensor, start: int = 0) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of the context for each layer, [G, n, D] each: the same for all anchors. ``start``
        is the position of its first row, for a context that grows."""
        states = context.to(self.device, self.dtype)
        fused = rms_norm(linear(states, self.fc), self.hidden_norm, self.reading.sizes.eps)
        positions = torch.arange(start, start + len(fused), device=self.device)
        table = self.reading.rope.table(positions, self.dtype)
        return [layer.keys_values(fused, table) for layer in self.layers]

    def block(
        self, held: list[tuple[Tensor, Tensor]], anchors: Tensor, known: Tensor, embed: Tensor
    ) -> Tensor:
        """The blocks of a few anchors side by side, as rows of one list: [m, block size - 1, H]. ``held`` is
        from :meth:`keys_values`, ``known`` [m] are the tokens at the anchors."""
        size, eps = self.reading.block_size, self.reading.sizes.eps
        ids = torch.full((len(anchors), size), self.reading.mask_token_id, device=self.device)
        ids[:, 0] = known
        positions = (anchors[:, None] + torch.arange(size, device=self.device)).flatten()
        table = self.reading.rope.table(positions, self.dtype)
        seen = int(anchors.max())  # no anchor of this batch looks at a later row
        masks = {kind: _mask(anchors, size, seen, kind) for kind in set(self.reading.layers)}
        x = embedding(ids.flatten(), embed).to(self.dtype)
        for layer, (keys, values), kind in zip(self.layers, held, self.reading.layers, strict=True):
            normed = rms_norm(x, layer.input_norm, eps)
            k, v = layer.keys_values(normed, table)
            k, v = torch.cat((keys[:, :seen], k), dim=1), torch.cat((values[:, :seen], v), dim=1)
            x = layer.finish(x, attend(layer.queries(normed, table), k, v, masks[kind]))
        return rms_norm(x, self.norm, eps).view(len(anchors), size, -1)[:, 1:]


def _mask(anchors: Tensor, size: int, seen: int, kind: Attends) -> Tensor:
    """True where a row may look: [m*size, seen + m*size], the context and then the blocks of all anchors."""
    offsets = torch.arange(size, device=anchors.device)
    rows = (anchors[:, None] + offsets).flatten()
    owners = torch.arange(len(anchors), device=anchors.device).repeat_interleave(size)
    before = torch.arange(seen, device=anchors.device)
    context = before < anchors.repeat_interleave(size)[:, None]
    block = owners[:, None] == owners
    if kind.causal:
        block &= rows <= rows[:, None]
    if kind.window is not None:
        context &= rows[:, None] - before < kind.window
        block &= (rows[:, None] - rows).abs() < kind.window
    return torch.cat((context, block), dim=1)
