"""The config keys that bring tensors: what a draft may have beyond what its config says.

A tensor that is not expected is often trained and only undeclared, and then removing it is the wrong cure.
Sources: the inventories of this package, each of which names its own.
"""

from __future__ import annotations

import re

_EAGLE = ("eagle3", "peagle")
_DIFFUSION = ("dflash", "dflash2", "domino", "dspark")
# A pattern for the whole name, the families whose config has the key, and what to state.
_SWITCHES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (r"fc_norm\.\d+\.weight", _EAGLE, '"fc_norm": true and an aux layer for each norm'),
    (r"input_norm\.weight", _EAGLE, '"norm_before_fc": true'),
    (r"fc\.bias", ("eagle3",), '"bias": true'),
    (r".*\.self_attn\.[qkvo]_proj\.bias", (*_EAGLE, *_DIFFUSION), '"attention_bias": true'),
    (r".*\.self_attn\.attention_sink_bias", _DIFFUSION, '"attention_sink_bias": true in dflash_config'),
    (r"embed_tokens\.weight", _DIFFUSION, '"has_embed_tokens": true'),
    (r"aux_hidden_norms\.\d+\.weight", _DIFFUSION, "the architecture of a Laguna draft"),
    (r"markov_head\.gate_proj\..*", ("dspark",), '"markov_head_type": "gated"'),
    (r"markov_head\.joint_proj\..*", ("dspark",), '"markov_head_type": "rnn"'),
    (r"markov_head\..*", ("dspark",), "markov_rank, the rank of these two"),
    (r"confidence_head\..*", ("dspark",), '"enable_confidence_head": true'),
    (r".*\.(?:attention|mlp)_conv\..*", ("dflash2",), "conv_kernel_size and conv_group_size"),
    (r"candidate_selector\..*", ("dflash2",), "selector_rank and selector_top_k"),
    (r"layers\.\d+\..*", (*_EAGLE, *_DIFFUSION), "the number of layers (num_hidden_layers)"),
)


def switch_of(name: str, family: str) -> str | None:
    """What a config of ``family`` states where the draft has the tensor ``name``, or None if that is not
    known."""
    found = (
        text for pattern, families, text in _SWITCHES if family in families and re.fullmatch(pattern, name)
    )
    return next(found, None)
