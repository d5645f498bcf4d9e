"""A DFlash draft in plain torch, with the tensor names of the z-lab layout (25 tensors at 2 layers).

The draft predicts a whole block at once. Its input is the embedding of one known token (the anchor)
followed by ``block_size - 1`` mask tokens; its context is the target's hidden states of every position
before the anchor, taken after the layers in ``target_layer_ids``. Queries come from the block, keys and
values from context and block together, and nothing in a block is causal. Embeddings and output head are
the target's own, so neither is in the file. Layout: https://github.com/z-lab/dflash.

Letters in shapes: B batch, Q block tokens, C context tokens, H hidden, K aux layers, D head dim.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, silu

Config = dict[str, Any]

SAME_AS_TARGET = (
    "attention_bias", "attention_dropout", "eos_token_id", "head_dim", "hidden_act", "hidden_size",
    "initializer_range", "intermediate_size", "max_position_embeddings", "num_attention_heads",
    "num_key_value_heads", "pad_token_id", "rms_norm_eps", "rope_parameters", "vocab_size",
)  # fmt: skip


def draft_config(target: Config, mask_token_id: int, layers: int = 2, block_size: int = 8) -> Config:
    """The draft's config.json for a target's: same widths, aux layers spread over all but the last layer.

    `target_layer_ids` counts from 0 and means the output *after* that layer (`hidden_states[id + 1]` in
    transformers, where index 0 is the embedding).
    """
    return {key: target[key] for key in SAME_AS_TARGET} | {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": block_size,
        "num_target_layers": target["num_hidden_layers"],
        "dflash_config": {
            "mask_token_id": mask_token_id,
            "target_layer_ids": list(range(target["num_hidden_layers"] - 1)),
        },
        "num_hidden_layers": layers,
        "layer_types": ["full_attention"] * layers,
        "sliding_window": None,
        "use_sliding_window": False,
        "use_cache": True,
        "tie_word_embeddings": False,
        "dtype": "bfloat16",
    }


class RMSNorm(nn.Module):
    """Root mean square norm with a learned scale [D]."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)


def rotary(positions: Tensor, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines [B, 1, Q, D] for integer positions [B, Q]."""
    inverse = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    angles = positions[:, None, :, None].float() * inverse.repeat(2)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate pairs (i, i + D/2) of x [B, heads, Q, D], the Qwen3 convention."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    """Grouped-query attention from the block onto context and block, with Qwen3's per-head norms."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        hidden, self.head_dim = config["hidden_size"], config["head_dim"]
        heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.q_proj = nn.Linear(hidden, heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(hidden, kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(heads * self.head_dim, hidden, bias=False)
        self.q_norm = RMSNorm(self.head_dim, config["rms_norm_eps"])
        self.k_norm = RMSNorm(self.head_dim, config["rms_norm_eps"])
        self.theta = config["rope_parameters"]["rope_theta"]

    def heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], -1, self.head_dim).transpose(1, 2)

    def forward(self, block: Tensor, context: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        """block [B, Q, H], context [B, C, H], positions [B, C + Q], mask [B, 1, Q, C + Q] -> [B, Q, H]."""
        cos, sin = rotary(positions, self.head_dim, self.theta)
        queries, both = block.shape[1], torch.cat((context, block), dim=1)
        q = rotate(self.q_norm(self.heads(self.q_proj(block))), cos[:, :, -queries:], sin[:, :, -queries:])
        k = rotate(self.k_norm(self.heads(self.k_proj(both))), cos, sin)
        v = self.heads(self.v_proj(both))
        out = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
        mixed: Tensor = self.o_proj(out.transpose(1, 2).flatten(-2))
        return mixed


class MLP(nn.Module):
    """The gated feed-forward layer of Qwen3."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Layer(nn.Module):
    """One draft layer. The context is the same for all layers and is not normed by `input_layernorm`."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = MLP(config)
        self.input_layernorm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        self.post_attention_layernorm = RMSNorm(config["hidden_size"], config["rms_norm_eps"])

    def forward(self, block: Tensor, context: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        block = block + self.self_attn(self.input_layernorm(block), context, positions, mask)
        out: Tensor = block + self.mlp(self.post_attention_layernorm(block))
        return out


class DFlashDraft(nn.Module):
    """The draft: 3 + 11 tensors per layer. A new one has random weights, so it accepts about nothing."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        hidden, eps = config["hidden_size"], config["rms_norm_eps"]
        self.block_size: int = config["block_size"]
        self.mask_token_id: int = config["dflash_config"]["mask_token_id"]
        self.target_layer_ids: list[int] = config["dflash_config"]["target_layer_ids"]
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.fc = nn.Linear(len(self.target_layer_ids) * hidden, hidden, bias=False)
        self.hidden_norm, self.norm = RMSNorm(hidden, eps), RMSNorm(hidden, eps)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=config["initializer_range"])

    def forward(self, block: Tensor, aux: Tensor, positions: Tensor, mask: Tensor | None = None) -> Tensor:
        """Final hidden states [B, Q, H], for the target's output head.

        Args:
            block: target embeddings of anchor and mask tokens, [B, Q, H].
            aux: concatenated target hidden states, [B, C, K * H], in the order of `target_layer_ids`.
            positions: absolute positions of context, then block, [B, C + Q].
            mask: True where a query may look, [B, 1, Q, C + Q]; None when it may look everywhere.
        """
        context = self.hidden_norm(self.fc(aux))
        for layer in self.layers:
            block = layer(block, context, positions, mask)
        out: Tensor = self.norm(block)
        return out


def aux_hidden_states(hidden_states: tuple[Tensor, ...], layer_ids: list[int]) -> Tensor:
    """The draft's context [B, C, K * H] from transformers' `hidden_states` (index 0 is the embedding)."""
    return torch.cat([hidden_states[i + 1] for i in layer_ids], dim=-1)


def save_draft(draft: DFlashDraft, folder: Path) -> None:
    """Write config.json and a bf16 model.safetensors."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in draft.state_dict().items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(draft.config, indent=2, sort_keys=True) + "\n")


def load_draft(folder: Path) -> DFlashDraft:
    """The draft in `folder`, its bf16 weights widened to fp32. A missing or extra tensor is an error."""
    draft = DFlashDraft(json.loads((folder / "config.json").read_text()))
    tensors = load_file(folder / "model.safetensors")
    draft.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return draft.eval()
