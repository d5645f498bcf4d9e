"""EAGLE3: a chain of tokens, one pass each, from one Llama layer that reads embedding and state side by side.

Pair j is the embedding of token j + 1 and the target's fused state of token j, at position j. The pass over
all pairs before an anchor a ends with (token a, state a - 1) and proposes token a + 1; from there the draft
feeds back its own state and the token that it proposed. Chain, top-1, no tree.

Sources: specforge 0.2.0, modeling/draft/llama3_eagle.py and algorithms/eagle3/model.py; speculators 0.9.0,
models/eagle3/core.py (scripts/check_reference.py compares this module with both); sglang 0.5.14 and 0.5.23,
models/llama_eagle3.py and speculative/eagle_worker_v2.py; vllm 0.33.0, models/llama_eagle3.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding

from zoo.drafts.eagle3 import MLA_ARCHITECTURES, QWEN_ARCHITECTURES, aux_layers
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
from zoo.replay.reference.layers import Projection, Sizes, attend, greedy_tokens, rms_norm, take_layer
from zoo.replay.reference.rope import Rope, rope_of
from zoo.replay.reference.weights import Taker

_IDS = "eagle_aux_hidden_state_layer_ids"
_REFUSED = ("attention_bias", "bias", "mlp_bias", "quantization_config", "speculators_config", "kv_lora_rank")


@dataclass(frozen=True, slots=True)
class Reading:
    """An EAGLE3 config as one reader takes it.

    ``aux_ids``: the target layers after which states are taken, in the order of the columns of ``fc``.
    ``steps``: tokens of a chain. ``fc_norm`` norms each aux state, ``input_norm`` all together before ``fc``.
    ``norm_before_residual``: the residual starts from the normed state. ``norm_output``: the state is fed
    back normed. ``file_embedding``: the embedding of the file is used where it has one, else the target's
    (SGLang replaces it); where the target has another width, the file must have one.
    ``draft_vocab``: rows of the draft's own head, None where it takes the target's.
    """

    aux_ids: tuple[int, ...]
    steps: int
    rope: Rope
    sizes: Sizes
    target_hidden: int
    vocab: int
    draft_vocab: int | None
    fc_norm: bool
    input_norm: bool
    norm_before_residual: bool
    norm_output: bool
    file_embedding: bool
    engine: Engine | None


def reading(
    config: Mapping[str, Any],
    engine: Engine | None = None,
    *,
    steps: int,
    target_layers: int | None = None,
) -> Reading:
    """What ``engine`` makes of a config.json; None: its trainer.

    Who reads what: ``norm_before_residual`` vLLM and speculators, neither SGLang nor SpecForge (both keep the
    state before the norm); ``norm_before_fc`` vLLM, speculators and SGLang 0.5.23, not 0.5.14; ``fc_norm``
    all, its old name ``use_aux_norm`` only SGLang; ``norm_output`` both engines and speculators feed the
    state back normed. SpecForge gives the same key another meaning: it feeds back the state before the norm,
    always, and norms before the head unless the key is false. A draft that it trains with ``norm_output``
    true is therefore served otherwise than it was trained; None here reads the key as the engines do.

    Aux layers: of ``eagle_config`` the output after layer i, of the top level (vLLM, speculators) that
    before it; absent, 1, n/2 - 1 and n - 4 of ``target_layers``. SGLang takes one layer earlier on DeepSeek
    and Kimi K2 targets where the first id is not 1 (sgl-project/sglang#25454), which is not in this reading.

    Raises:
        NoReferenceError: more than one layer, latent attention, Qwen3 layers, biases, or a config that this
            reader refuses.
        UsageError: nobody has read this engine version.
    """
    with values_with_a_meaning():
        return _read(config, engine, steps, target_layers)


def _read(config: Mapping[str, Any], engine: Engine | None, steps: int, target_layers: int | None) -> Reading:
    if names_one_of(config, (*MLA_ARCHITECTURES, *QWEN_ARCHITECTURES)):
        raise NoReferenceError("no reference for EAGLE3 with latent attention or Qwen3 layers")
    refuse_stated(config, _REFUSED, "")
    seen = with_defaults(config, "llama")
    if integer(seen, "num_hidden_layers") != 1:
        raise NoReferenceError("no reference for EAGLE3 with more than one layer")
    sglang = engine is not None and engine[0] == "sglang"
    if not sglang and "sliding_attention" in (seen.get("layer_types") or ()):
        raise NoReferenceError("no reference for EAGLE3 with a sliding window")
    sizes = sizes_of(seen)
    block = seen.get("eagle_config")
    own: Mapping[str, Any] = block if isinstance(block, Mapping) else {}
    hidden = integer(seen, "target_hidden_size") if seen.get("target_hidden_size") else sizes.hidden
    served = engine_reading(config, engine, target_layers)
    ids = _trained(seen, own, target_layers) if served is None else tapped(served)
    draft_vocab = _draft_vocabulary(seen)
    if draft_vocab is None and hidden != sizes.hidden:
        raise NoReferenceError("the draft has no head of its own, and the target's has another width")
    if len(ids) != aux_layers(seen):
        raise NoReferenceError(f"{len(ids)} aux layers are tapped, and fc reads {aux_layers(seen)}")
    old_name = engine is None or sglang
    return Reading(
        aux_ids=ids,
        steps=integer({"steps": steps}, "steps"),
        rope=rope_of(seen, sizes.head_dim, engine),
        sizes=sizes,
        target_hidden=hidden,
        vocab=integer(seen, "vocab_size"),
        draft_vocab=draft_vocab,
        fc_norm=bool(seen.get("fc_norm") or (old_name and seen.get("use_aux_norm"))),
        input_norm=engine != ("sglang", "0.5.14")
        and bool(own.get("norm_before_fc", seen.get("norm_before_fc"))),
        norm_before_residual=not sglang and bool(seen.get("norm_before_residual")),
        norm_output=bool(seen.get("norm_output")),
        file_embedding=not sglang,
        engine=engine,
    )


def _trained(seen: Mapping[str, Any], own: Mapping[str, Any], depth: int | None) -> tuple[int, ...]:
    if own.get(_IDS):
        return layer_ids(own[_IDS], f"eagle_config.{_IDS}")
    if seen.get(_IDS):
        return tuple(each - 1 for each in layer_ids(seen[_IDS], _IDS))
    if depth is None:
        raise NoReferenceError(f"config.json states no {_IDS}, and the depth of the target is not known")
    return (1, depth // 2 - 1, depth - 4)


def _draft_vocabulary(seen: Mapping[str, Any]) -> int | None:
    if seen.get("tie_word_embeddings"):
        raise NoReferenceError("no reference for EAGLE3 with tied embeddings")
    return None if seen.get("draft_vocab_size") is None else integer(seen, "draft_vocab_size")


class Eagle3:
    """An EAGLE3 draft under one reading. See ``zoo.replay.reference.Reference``.

    Raises:
        UnreadableError: a tensor is missing, or has another shape than the reading says.
    """

    def __init__(
        self, weights: Mapping[str, Tensor], reading: Reading, device: torch.device | str, dtype: torch.dtype
    ) -> None:
        take = Taker(weights, device, dtype)
        sizes, wide = reading.sizes, reading.target_hidden
        taps = range(len(reading.aux_ids))
        self.reading, self.device, self.dtype = reading, torch.device(device), dtype
        self.fc = Projection(take("fc.weight", sizes.hidden, len(taps) * wide))
        self.fc_norms = [take(f"fc_norm.{index}.weight", wide) for index in taps] if reading.fc_norm else []
        self.input_norm = take("input_norm.weight", len(taps) * wide) if reading.input_norm else None
        # SpecForge writes midlayer., ModelOpt and speculators layers.0.; both engines read both.
        prefix = "midlayer." if "midlayer.hidden_norm.weight" in take else "layers.0."
        self.layer = take_layer(take, prefix, sizes, width=2 * sizes.hidden, bias=False, head_norms=False)
        self.hidden_norm = take(f"{prefix}hidden_norm.weight", sizes.hidden)
        self.norm = take("norm.weight", sizes.hidden)
        fits = wide == sizes.hidden  # else the target's table is of no use
        own = not fits or (reading.file_embedding and "embed_tokens.weight" in take)
        self.embed = take("embed_tokens.weight", reading.vocab, sizes.hidden) if own else None
        self.head = self.target_ids = None
        if reading.draft_vocab is not None:
            self.head = take("lm_head.weight", reading.draft_vocab, sizes.hidden)
        if "d2t" in take:
            offsets = take.as_it_is("d2t", reading.draft_vocab or reading.vocab)
            self.target_ids = torch.arange(len(offsets), device=self.device) + offsets

    @property
    def aux_ids(self) -> tuple[int, ...]:
        return self.reading.aux_ids

    @property
    def proposals_per_step(self) -> int:
        return self.reading.steps

    def proposals(
        self,
        context: Tensor,
        tokens: Tensor,
        anchors: Tensor,
        embed: Tensor,
        lm_head: Tensor,
        batch: int = 128,
    ) -> Tensor:
        """The greedy proposals [m, s] (``Reference.proposals``); ``batch`` anchors at a time. An anchor is at
        least 1: before token 0 there is no state."""
        found = [torch.empty((0, self.reading.steps), dtype=torch.int64, device=self.device)]
        with torch.inference_mode():
            found += [ids for ids, _ in self.chains(context, tokens, anchors, embed, lm_head, batch)]
        return torch.cat(found)

    def chains(
        self,
        context: Tensor,
        tokens: Tensor,
        anchors: Tensor,
        embed: Tensor,
        lm_head: Tensor,
        batch: int = 128,
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """For each ``batch`` anchors their proposals [m, s], and the states [m, s, H] that the head read them
        from. Arguments as of :meth:`proposals`."""
        if not len(anchors):
            return
        table = embed if self.embed is None else self.embed
        head = lm_head if self.head is None else self.head
        anchors, tokens = anchors.to(self.device), tokens.to(self.device)
        last = int(anchors.max())
        fused = self._fused(context[:last])
        held = self._pairs(tokens[1 : last + 1], fused, torch.arange(last, device=self.device), table)[1:]
        for some in torch.split(anchors, batch):
            yield self._chain(some, fused, tokens, held, table, head)

    def _fused(self, context: Tensor) -> Tensor:
        """The target's states [n, K*T] as one state of the draft's width, [n, H]."""
        states, eps = context.to(self.device, self.dtype), self.reading.sizes.eps
        if self.input_norm is not None:
            states = rms_norm(states, self.input_norm, eps)
        if self.fc_norms:
            parts = torch.split(states, self.reading.target_hidden, dim=-1)
            normed = [rms_norm(part, norm, eps) for part, norm in zip(parts, self.fc_norms, strict=True)]
            states = torch.cat(normed, dim=-1)
        return self.fc(states)

    def _pairs(
        self, ids: Tensor, states: Tensor, positions: Tensor, embed: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Input [R, 2H], keys and values [G, R, D] of pairs of a token and a state."""
        eps = self.reading.sizes.eps
        embedded = rms_norm(embedding(ids, embed).to(self.dtype), self.layer.input_norm, eps)
        x = torch.cat((embedded, rms_norm(states, self.hidden_norm, eps)), dim=-1)
        return x, *self.layer.keys_values(x, self.reading.rope.table(positions, self.dtype))

    def _chain(
        self,
        anchors: Tensor,
        fused: Tensor,
        tokens: Tensor,
        held: tuple[Tensor, Tensor],
        embed: Tensor,
        head: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The chains of a few anchors side by side: tokens [m, s] and states [m, s, H]."""
        ids, states = tokens[anchors], fused[anchors - 1]
        proposed, read = list[Tensor](), list[Tensor]()
        keys, values = (each[:, : int(anchors.max())] for each in held)
        visible = torch.arange(keys.shape[1], device=self.device) < anchors[:, None]
        itself = torch.eye(len(anchors), dtype=torch.bool, device=self.device)
        for step in range(self.reading.steps):
            positions = anchors - 1 + step
            x, k, v = self._pairs(ids, states, positions, embed)
            if step:  # the first pair is among those that are held
                keys, values = torch.cat((keys, k), dim=1), torch.cat((values, v), dim=1)
                visible = torch.cat((visible, itself), dim=1)
            states = self._layer(x, states, positions, keys, values, visible)
            normed = rms_norm(states, self.norm, self.reading.sizes.eps)
            ids = greedy_tokens(normed, head)
            if self.target_ids is not None:
                ids = self.target_ids[ids]
            proposed.append(ids)
            read.append(normed)
            states = normed if self.reading.norm_output else states
        return torch.stack(proposed, dim=1), torch.stack(read, dim=1)

    def _layer(
        self, x: Tensor, states: Tensor, positions: Tensor, keys: Tensor, values: Tensor, visible: Tensor
    ) -> Tensor:
        table = self.reading.rope.table(positions, self.dtype)
        attended = attend(self.layer.queries(x, table), keys, values, visible)
        normed = x[:, self.reading.sizes.hidden :]
        return self.layer.finish(normed if self.reading.norm_before_residual else states, attended)
