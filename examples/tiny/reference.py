"""The reference loop: speculative decoding with a DFlash draft, batch 1, fp32 on the CPU.

It defines what the measured numbers of this example mean. In each verify step the draft proposes
``block_size - 1`` tokens greedily and the target checks them all in one forward. With the draft a point
mass, speculative sampling (https://arxiv.org/abs/2211.17192) accepts a token with its target probability
and, on rejection, samples from the rest of the target's distribution: the output is distributed as the
target's own. At temperature 0 that is the target's greedy output, token for token.

    target, draft = load_target(Path("target")), load_draft(Path("tiny-ft"))
    tokens, accepted = generate(target, draft, prompt, 48, temperature=0.0)
    print(accept_length(accepted))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from model import DFlashDraft, aux_hidden_states, load_draft
from torch import Tensor
from transformers import DynamicCache, Qwen3ForCausalLM

__all__ = ["accept_length", "generate", "greedy", "load_draft", "load_target"]


def load_target(folder: Path) -> Any:
    """The target in `folder` (a `Qwen3ForCausalLM`), its bf16 weights widened to fp32."""
    target: Any = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
    return target.eval().requires_grad_(False)


@torch.inference_mode()
def generate(
    target: Any,
    draft: DFlashDraft,
    input_ids: Tensor,
    max_new_tokens: int,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
    eos_token_id: int | None = None,
) -> tuple[list[int], list[int]]:
    """Generate from `input_ids` [1, n] with `draft` proposing and `target` verifying.

    Returns the new tokens, and for each verify step how many of the proposed tokens were accepted (0 to
    `block_size - 1`). The first token comes from the prefill and belongs to no step. The output stops at
    `max_new_tokens` or after `eos_token_id`; the last step still counts all that it accepted, because
    cutting it would make the accept length depend on the output length.
    """
    cache = DynamicCache()
    out = forward(target, input_ids, cache)
    aux = aux_hidden_states(out.hidden_states, draft.target_layer_ids)
    tokens = [sample(distribution(out.logits[0, -1], temperature), generator)]
    accepted_per_step: list[int] = []
    while len(tokens) < max_new_tokens and eos_token_id not in tokens:
        block = propose(target, draft, tokens[-1], aux)
        out = forward(target, block[None], cache)
        accepted, token = verify(block[1:].tolist(), distribution(out.logits[0], temperature), generator)
        # Negative means "remove that many"; transformers 5.24 rejects a positive, absolute length.
        cache.crop(accepted + 1 - len(block))
        seen = aux_hidden_states(out.hidden_states, draft.target_layer_ids)[:, : accepted + 1]
        aux = torch.cat((aux, seen), dim=1)
        tokens += [*block[1 : accepted + 1].tolist(), token]
        accepted_per_step.append(accepted)
    return cut(tokens, max_new_tokens, eos_token_id), accepted_per_step


@torch.inference_mode()
def greedy(target: Any, input_ids: Tensor, max_new_tokens: int, eos_token_id: int | None = None) -> list[int]:
    """The target's own greedy output for `input_ids` [1, n], one token a step: the lossless reference."""
    cache, tokens, step = DynamicCache(), list[int](), input_ids
    while len(tokens) < max_new_tokens and eos_token_id not in tokens:
        tokens.append(int(forward(target, step, cache).logits[0, -1].argmax()))
        step = torch.tensor([tokens[-1:]])
    return tokens


def accept_length(steps: Sequence[int]) -> float:
    """1 + correct drafts / verify steps, over all steps pooled (a ratio of sums); 1.0 for no steps."""
    return 1 + sum(steps) / len(steps) if steps else 1.0


def forward(target: Any, ids: Tensor, cache: DynamicCache) -> Any:
    """Run the target on `ids` [1, n] after what `cache` holds, and add them to the cache."""
    # Positional, because transformers 5.24 renamed this argument from past_key_values to cache.
    return target(ids, None, None, cache, use_cache=True, output_hidden_states=True)


def propose(target: Any, draft: DFlashDraft, anchor: int, aux: Tensor) -> Tensor:
    """The block [block_size]: `anchor`, then the draft's greedy tokens. `aux` is [1, C, K * H]."""
    block = torch.full((draft.block_size,), draft.mask_token_id)
    block[0] = anchor
    # The anchor sits right after the context, so the positions of both are one unbroken range.
    positions = torch.arange(aux.shape[1] + draft.block_size)[None]
    hidden = draft(target.get_input_embeddings()(block)[None], aux, positions)
    block[1:] = target.lm_head(hidden[0, 1:]).argmax(-1)
    return block


def distribution(logits: Tensor, temperature: float) -> Tensor:
    """Probabilities over the last dimension; a point mass on the argmax at temperature 0."""
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    return (logits / temperature).softmax(-1)


def sample(probabilities: Tensor, generator: torch.Generator | None) -> int:
    return int(torch.multinomial(probabilities, 1, generator=generator))


def verify(proposed: list[int], target: Tensor, generator: torch.Generator | None) -> tuple[int, int]:
    """How many of the `proposed` tokens are accepted, and the token that follows them.

    Row i of `target` [block_size, vocab] is the target's distribution for proposed token i; the last row
    is for the bonus token after a block accepted whole.
    """
    for accepted, token in enumerate(proposed):
        if torch.rand((), generator=generator) >= target[accepted, token]:
            residual = target[accepted].clone()
            residual[token] = 0
            return accepted, sample(residual, generator)
    return len(proposed), sample(target[-1], generator)


def cut(tokens: list[int], max_new_tokens: int, eos_token_id: int | None) -> list[int]:
    tokens = tokens[:max_new_tokens]
    return tokens[: tokens.index(eos_token_id) + 1] if eos_token_id in tokens else tokens
