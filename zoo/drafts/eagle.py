"""EAGLE-1 and EAGLE-2 (one file, two ways to use it) with Llama layers.

An autoregressive draft: ``fc`` fuses the token embedding and the target's last hidden state into one, and the
layers follow. The first has no ``input_layernorm``, and there is no norm after the last. Embedding and head
are the target's.

Sources: sglang 0.5.14 (run: docs/inventories.md) and 0.5.23, models/llama_eagle.py; vllm 0.33.0,
models/llama_eagle.py. No published header was read.

Uncertain: the config of the drafts first published (yuhuili) is that of an ordinary Llama model and says
nothing of EAGLE; such a folder is taken for a small model. ``fc.bias`` is read by SGLang, which starts from
noise where a file lacks it, and refused by vLLM. ``embed_tokens`` and ``lm_head`` may be in the file: SGLang
takes the target's, vLLM the file's. Other layers than Llama's are not inventoried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory
from zoo.drafts.parts import (
    MAX_LAYERS,
    NotInventoriedError,
    extend,
    layer_shapes,
    names_one_of,
    refuse_nested,
    size,
)

LLAMA_ARCHITECTURES = ("LlamaForCausalLMEagle", "EagleLlamaForCausalLM")
# Known to SGLang 0.5.23 or vLLM 0.33.0, with layers of their own.
OTHER_ARCHITECTURES = (
    "Qwen2ForCausalLMEagle",
    "MistralForCausalLMEagle",
    "MistralLarge3ForCausalLMEagle",
    "EagleLlama4ForCausalLM",
    "EagleMiniCPMForCausalLM",
    "EagleMistralForCausalLM",
    "EagleMistralLarge3ForCausalLM",
    "EagleCohereForCausalLM",
    "EagleDeepSeekMTPModel",
)
ARCHITECTURES = (*LLAMA_ARCHITECTURES, *OTHER_ARCHITECTURES)


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor that a file of this config must have: 9 x layers.

    Shapes, with H hidden and the layers' as in :func:`layer_shapes`: fc [H, 2*H].

    Raises:
        KeyError: a dimension is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer.
        NotInventoriedError: layers that are not Llama's, or the nested config of speculators.
    """
    refuse_nested(config)
    if not names_one_of(config, LLAMA_ARCHITECTURES):
        raise NotInventoriedError("an EAGLE-1/2 draft with other layers than Llama's is not inventoried")
    hidden = size(config, "hidden_size")
    shapes: dict[str, tuple[int, ...]] = {"fc.weight": (hidden, 2 * hidden)}
    layer = layer_shapes(config, hidden)
    for index in range(size(config, "num_hidden_layers", most=MAX_LAYERS)):
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    del shapes["layers.0.input_layernorm.weight"]
    return extend({}, shapes, dtype)


def optional(config: Mapping[str, Any], dtype: str) -> Inventory:
    """What a file of this config may have besides: fc.bias [H], embed_tokens and lm_head [V, H].

    Raises:
        KeyError, TypeError: as :func:`inventory`.
    """
    hidden, vocab = size(config, "hidden_size"), size(config, "vocab_size")
    shapes: dict[str, tuple[int, ...]] = {"fc.bias": (hidden,)}
    shapes |= dict.fromkeys(("embed_tokens.weight", "lm_head.weight"), (vocab, hidden))
    return extend({}, shapes, dtype)
