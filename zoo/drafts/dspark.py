"""DSpark: DFlash with a low-rank Markov head (the previous token biases the next) and a confidence head.

The base is DFlash to the byte; embedding and head are the target's. The layout is the one of SpecForge and
SGLang, with ``markov_head.`` and ``confidence_head.`` before the names of the heads.

Sources: specforge 0.2.0, modeling/draft/dspark.py; sglang 0.5.23, models/dspark.py (load_weights) and
speculative/dspark_components/dspark_config.py; public configs of SpecForge. SGLang 0.5.14 has no DSpark.

Uncertain: ModelOpt and TensorRT-LLM write the heads as ``markov_w1``, ``markov_w2`` and ``confidence_proj``
under an architecture that still says DFlash. With a reduced draft vocabulary, speculators makes
``markov_w2`` that many rows high; SpecForge and SGLang know only the full one, as here. A draft bundled in
its target (``dspark_*`` keys, ``mtp.*`` tensors) and drafts with latent or MiniMax attention are not
inventoried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory, dflash
from zoo.drafts.parts import NotInventoriedError, extend, head_keys, refuse_variants, size

# Other backbones under a DSpark head: recognised, but with layers of their own.
OTHER_BACKBONES = ("DSparkMiniMaxDraftModel", "DeepseekV4ForCausalLMDSpark", "K3DSparkModel")
ARCHITECTURES = (
    "DSparkDraftModel",
    "Qwen3DSparkModel",
    "LingDSparkModel",
    "Lfm2DSparkDraftModel",
    *OTHER_BACKBONES,
)


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the draft that ``config`` describes: 7 + 11 x layers with a vanilla Markov head and a
    confidence head.

    Shapes beyond DFlash, with H hidden, V vocabulary, r Markov rank: markov_head.markov_w1 and markov_w2
    [V, r]; a gated head adds gate_proj [r, H+r] and its bias [r], an rnn head joint_proj [3*r, 2*r+H] and its
    bias [3*r]; confidence_head.proj [1, H] (or [1, H+r] with Markov) and its bias [1]. A Markov rank of 0
    means no Markov head; SpecForge allows that, SGLang does not.

    Every key must be stated, for the defaults differ: where ``enable_confidence_head`` is absent, SGLang
    takes the head as enabled and SpecForge asks whether its loss has a weight.

    Raises:
        KeyError: a dimension or a switch is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer, a switch no boolean, or the kind of head unknown.
        NotInventoriedError: another backbone, latent attention, or the nested config of speculators.
    """
    refuse_variants(config)
    architectures = config.get("architectures")
    if isinstance(architectures, list) and any(name in OTHER_BACKBONES for name in architectures):
        raise NotInventoriedError("a DSpark draft with a backbone other than Qwen3's is not inventoried")
    base = dflash.inventory(config, dtype)
    (hidden,) = base["norm.weight"].shape
    keys = head_keys(config, "dspark_config")
    rank = 0 if keys["markov_rank"] == 0 else size(keys, "markov_rank")
    shapes: dict[str, tuple[int, ...]] = {}
    if rank:
        vocab = size(config, "vocab_size")
        shapes |= {f"markov_head.markov_w{number}.weight": (vocab, rank) for number in (1, 2)}
        shapes |= _mixer(keys["markov_head_type"], hidden, rank)
    if _switch(keys, "enable_confidence_head"):
        width = hidden + (rank if _switch(keys, "confidence_head_with_markov") else 0)
        shapes |= {"confidence_head.proj.weight": (1, width), "confidence_head.proj.bias": (1,)}
    return extend(base, shapes, dtype)


def _mixer(kind: object, hidden: int, rank: int) -> dict[str, tuple[int, ...]]:
    """What a Markov head of this kind has beside its two factors."""
    match kind.lower() if isinstance(kind, str) else kind:
        case "vanilla":
            return {}
        case "gated":
            name, rows, columns = "gate_proj", rank, hidden + rank
        case "rnn":
            name, rows, columns = "joint_proj", 3 * rank, 2 * rank + hidden
        case _:
            raise TypeError("markov_head_type is not vanilla, gated or rnn")
    return {f"markov_head.{name}.weight": (rows, columns), f"markov_head.{name}.bias": (rows,)}


def _switch(keys: Mapping[str, Any], key: str) -> bool:
    value = keys[key]
    if not isinstance(value, bool):
        raise TypeError(f"{key} is not true or false")
    return value
