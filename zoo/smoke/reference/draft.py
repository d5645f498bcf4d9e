"""The draft: loaded as SGLang 0.5.14 loads it, and asked block by block while its context grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from zoo.checkpoint.folder import open_checkpoint
from zoo.errors import UnreadableError, UsageError
from zoo.printable import quoted
from zoo.replay.reference import Engine, NoReferenceError, family_with_reference
from zoo.replay.reference.dflash import DFlash, Reading, reading
from zoo.replay.reference.layers import greedy_tokens
from zoo.replay.reference.weights import read_weights
from zoo.smoke.reference import say
from zoo.smoke.reference.target import Target

_DEVIATION = 0.02  # of a weight that no file gave


def load_draft(folder: Path, target: Target, engine: Engine, block_size: int | None, seed: int) -> DFlash:
    """The draft in ``folder`` under the reading of ``engine``; ``block_size`` None: as its config says.

    Raises:
        NoReferenceError: it is no DFlash draft, or this engine refuses its config.
        UnreadableError: a file cannot be read, or a tensor has another shape than the config says.
        UsageError: the draft does not fit the target.
    """
    checkpoint = open_checkpoint(folder, str(folder))
    if checkpoint.config is None:
        raise UnreadableError(
            f"the draft {quoted(str(folder))} has no config.json that can be read",
            hint="give the folder of a draft checkpoint",
        )
    config = checkpoint.config
    if family_with_reference(config) != "dflash":
        raise NoReferenceError("the reference engine serves DFlash drafts only")
    read = reading(config, engine, target_layers=target.layers)
    stated = config.get("num_target_layers")
    if stated is not None and stated != target.layers:
        say(
            f"warning: DFLASH draft config num_target_layers={stated} differs from runtime target "
            f"num_hidden_layers={target.layers}; the target's number counts"
        )
    if block_size is not None and block_size != read.block_size:
        say(
            f"warning: DFLASH block size mismatch: using speculative_num_draft_tokens={block_size} but draft "
            f"config block_size={read.block_size}."
        )
        read = replace(read, block_size=block_size)
    if read.mask_token_id >= target.vocab_size:
        raise UsageError(
            f"mask_token_id {read.mask_token_id} is outside the target vocab size {target.vocab_size}",
            hint="serve the target that this draft was trained for",
        )
    target.tap(read.aux_ids)
    return DFlash(loaded(read_weights(checkpoint), read, seed), read, "cpu", target.dtype)


def loaded(tensors: Mapping[str, Tensor], read: Reading, seed: int) -> dict[str, Tensor]:
    """The parameters of the draft, each from ``tensors`` or else at random.

    As in SGLang 0.5.14 (models/dflash.py, load_weights) a leading ``model.`` is dropped, foreign names are
    skipped, and nobody misses a tensor: it keeps what it was made with. There that is ones for norms and
    whatever the memory held for the rest; here the rest is random numbers of ``seed``, so that a broken draft
    gives the same answer each time.
    """
    made = torch.Generator().manual_seed(seed)
    own = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    found = {}
    for name, shape in parameters(read).items():
        fresh = torch.randn(shape, generator=made) * _DEVIATION
        if name.endswith("norm.weight"):
            fresh = torch.ones(shape)
        found[name] = own.get(name, fresh)
    return found


def parameters(read: Reading) -> dict[str, tuple[int, ...]]:
    """Name and shape of each parameter of the draft (``zoo.drafts.dflash.inventory`` has the letters)."""
    sizes = read.sizes
    hidden, inner = sizes.hidden, sizes.intermediate
    q, kv = sizes.heads * sizes.head_dim, sizes.key_heads * sizes.head_dim
    layer: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj.weight": (q, hidden),
        "self_attn.k_proj.weight": (kv, hidden),
        "self_attn.v_proj.weight": (kv, hidden),
        "self_attn.o_proj.weight": (hidden, q),
        "self_attn.q_norm.weight": (sizes.head_dim,),
        "self_attn.k_norm.weight": (sizes.head_dim,),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
    }
    if read.attention_bias:
        rows = {"q": q, "k": kv, "v": kv, "o": hidden}
        layer |= {f"self_attn.{name}_proj.bias": (count,) for name, count in rows.items()}
    found: dict[str, tuple[int, ...]] = {
        "fc.weight": (hidden, len(read.aux_ids) * hidden),
        "hidden_norm.weight": (hidden,),
        "norm.weight": (hidden,),
    }
    for index in range(len(read.layers)):
        found |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    return found


class Proposer:
    """The draft beside one request: its keys and values of every token before the anchor."""

    def __init__(self, draft: DFlash, target: Target) -> None:
        self._draft, self._target = draft, target
        self._held: list[tuple[Tensor, Tensor]] = []
        self._length = 0

    def see(self, states: Tensor) -> None:
        """The target's states [n, K*T] of the next n tokens, which are now certain."""
        fresh = self._draft.keys_values(states, self._length)
        self._length += len(states)
        if self._held:
            pairs = zip(self._held, fresh, strict=True)
            fresh = [(torch.cat((k, x), dim=1), torch.cat((v, y), dim=1)) for (k, v), (x, y) in pairs]
        self._held = fresh

    def propose(self, anchor: int) -> list[int]:
        """The greedy tokens after ``anchor``, the token right after those that were seen."""
        position, known = torch.tensor([self._length]), torch.tensor([anchor])
        states = self._draft.block(self._held, position, known, self._target.embed)[0]
        tokens: list[int] = greedy_tokens(states, self._target.lm_head).tolist()
        return tokens
