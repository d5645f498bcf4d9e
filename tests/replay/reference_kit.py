"""What the tests of the reference passes share: the tiny pair, small random drafts, their inputs."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from tests.conftest import REPOSITORY

TINY = REPOSITORY / "examples" / "tiny"
TOKENS, VOCAB, HIDDEN = 40, 48, 32
SMALL = {
    "vocab_size": VOCAB,
    "hidden_size": HIDDEN,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "hidden_act": "silu",
}
DFLASH = SMALL | {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "num_hidden_layers": 1,
    "num_target_layers": 9,
    "block_size": 6,
    "dflash_config": {"target_layer_ids": [1, 4, 6], "mask_token_id": 47},
    "layer_types": ["full_attention"],
}
EAGLE3 = SMALL | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "draft_vocab_size": 20,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 4, 6]},
}
YARN = {"rope_type": "yarn", "factor": 64.0, "original_max_position_embeddings": 4096}


def one_thread() -> None:
    """Matrices this small gain nothing from threads, and on a busy machine threads wait for each other."""
    import torch

    torch.set_num_threads(1)


def tiny(*names: str) -> list[Any]:
    """Modules of examples/tiny, whose siblings import each other by their plain names."""
    one_thread()
    sys.path.insert(0, str(TINY))
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.path.remove(str(TINY))


def tiny_draft(name: str) -> Any:
    """The draft ``base`` or ``tiny-ft`` as a reference."""
    from safetensors.torch import load_file

    from zoo.replay.reference import reference

    config = json.loads((TINY / name / "config.json").read_text())
    return reference(config, load_file(TINY / name / "model.safetensors"))


def weights_of(config: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """Random float32 tensors for the config's inventory, norms around 1; d2t maps i to 2i + 1."""
    import torch

    from zoo.drafts.family import family_of

    family = family_of(config)
    assert family is not None
    one_thread()
    made = torch.Generator().manual_seed(seed)
    tensors: dict[str, Any] = {}
    for name, spec in family.inventory(config, "float32").items():
        if name == "d2t":
            tensors[name] = torch.arange(spec.shape[0]) + 1
        elif name != "t2d":
            normal = torch.randn(spec.shape, generator=made)
            tensors[name] = 1 + 0.3 * normal if len(spec.shape) == 1 else 0.15 * normal
    return tensors


def inputs(width: int = HIDDEN) -> tuple[Any, Any, Any, Any]:
    """A random conversation: context [n, 3*width], tokens [n], and the target's tables [V, width]."""
    import torch

    made = torch.Generator().manual_seed(1)
    return (
        torch.randn(TOKENS, 3 * width, generator=made),
        torch.randint(0, VOCAB, (TOKENS,), generator=made),
        torch.randn(VOCAB, width, generator=made),
        torch.randn(VOCAB, width, generator=made),
    )
