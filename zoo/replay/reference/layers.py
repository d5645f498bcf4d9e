"""The parts that drafts are made of: norm, rotation, attention, feed-forward, and the choice of a token.

Everything is a function of tensors. A row is one token of one block; rows of many anchors lie in one list,
and masks say who sees whom. Letters as in ``zoo.replay.reference``; R rows, A heads, G key heads, D head dim,
I intermediate.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import linear, scaled_dot_product_attention, silu

from zoo.replay.reference.weights import Taker

# Rows of logits that exist at a time: 256 of a vocabulary of 163,840 in float32 are 168 MB.
_ROWS = 256


@dataclass(frozen=True, slots=True)
class Sizes:
    """The dimensions of a decoder layer, and the eps of its norms."""

    hidden: int
    intermediate: int
    heads: int
    key_heads: int
    head_dim: int
    eps: float


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Root mean square norm over the last dimension, in float32, scaled by ``weight`` (Llama, Qwen3)."""
    wide = x.float()
    scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return weight * scaled.to(x.dtype)


def rotate(x: Tensor, table: tuple[Tensor, Tensor]) -> Tensor:
    """Rotate the pairs (i, i + D/2) of x [heads, R, D] by a table of cosines and sines [R, D]."""
    cos, sin = table
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Grouped-query attention: q [A, R, D] on k and v [G, C, D], mask [R, C] True where a row may look ->
    [R, A*D]."""
    group = q.shape[0] // k.shape[0]
    # Repeated here, because the memory-efficient kernels take no groups and the others build all scores.
    k, v = k.repeat_interleave(group, dim=0), v.repeat_interleave(group, dim=0)
    mixed = scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask)
    return mixed[0].transpose(0, 1).flatten(-2)


def greedy_tokens(states: Tensor, head: Tensor) -> Tensor:
    """The likeliest token [R] for each state [R, H] under head [V, H]; never all logits at once."""
    rows = torch.split(states.to(head.dtype), _ROWS)
    return torch.cat([linear(some, head).argmax(-1) for some in rows])


@dataclass(frozen=True, slots=True)
class Projection:
    """A linear map with or without bias."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class Layer:
    """The weights that the decoder layers of all families have. The norms of query and key are Qwen3's."""

    sizes: Sizes
    q: Projection
    k: Projection
    v: Projection
    o: Projection
    gate: Projection
    up: Projection
    down: Projection
    input_norm: Tensor
    post_norm: Tensor
    q_norm: Tensor | None
    k_norm: Tensor | None

    def queries(self, x: Tensor, table: tuple[Tensor, Tensor]) -> Tensor:
        """x [R, width] -> rotated queries [A, R, D]."""
        return rotate(self._heads(self.q(x), self.q_norm), table)

    def keys_values(self, x: Tensor, table: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """x [C, width] -> rotated keys and values, [G, C, D] each."""
        return rotate(self._heads(self.k(x), self.k_norm), table), self._heads(self.v(x), None)

    def finish(self, residual: Tensor, attended: Tensor) -> Tensor:
        """Output projection, residual and feed-forward: [R, H], [R, A*D] -> [R, H]."""
        x = residual + self.o(attended)
        inner = rms_norm(x, self.post_norm, self.sizes.eps)
        return x + self.down(silu(self.gate(inner)) * self.up(inner))

    def _heads(self, x: Tensor, norm: Tensor | None) -> Tensor:
        x = x.view(len(x), -1, self.sizes.head_dim)
        if norm is not None:
            x = rms_norm(x, norm, self.sizes.eps)
        return x.transpose(0, 1)


def take_layer(take: Taker, prefix: str, sizes: Sizes, *, width: int, bias: bool, head_norms: bool) -> Layer:
    """The layer whose tensors start with ``prefix``; ``width`` is what q, k and v read.

    Raises:
        UnreadableError: a tensor is missing, or has another shape.
    """
    hidden, inner = sizes.hidden, sizes.intermediate
    q, kv = sizes.heads * sizes.head_dim, sizes.key_heads * sizes.head_dim

    def attention(name: str, rows: int, columns: int) -> Projection:
        weight = take(f"{prefix}self_attn.{name}_proj.weight", rows, columns)
        return Projection(weight, take(f"{prefix}self_attn.{name}_proj.bias", rows) if bias else None)

    def norm(name: str) -> Tensor:
        return take(f"{prefix}self_attn.{name}_norm.weight", sizes.head_dim)

    return Layer(
        sizes=sizes,
        q=attention("q", q, width),
        k=attention("k", kv, width),
        v=attention("v", kv, width),
        o=attention("o", hidden, q),
        gate=Projection(take(f"{prefix}mlp.gate_proj.weight", inner, hidden)),
        up=Projection(take(f"{prefix}mlp.up_proj.weight", inner, hidden)),
        down=Projection(take(f"{prefix}mlp.down_proj.weight", hidden, inner)),
        input_norm=take(f"{prefix}input_layernorm.weight", hidden),
        post_norm=take(f"{prefix}post_attention_layernorm.weight", hidden),
        q_norm=norm("q") if head_norms else None,
        k_norm=norm("k") if head_norms else None,
    )
