"""DSpark: DFlash with a low-rank Markov head (the previous token biases the next) and a confidence head.

The base is DFlash to the byte; embedding and head are the target's. The layout is the one of SpecForge and
SGLang, with ``markov_head.`` and ``confidence_head.`` before the names of the heads.

Sources: specforge 0.2.0, modeling/draft/dspark.py; sglang 0.5.23, models/dspark.py (load_weights) and
speculative/dspark_components/dspark_config.py; vllm 0.33.0, models/qwen3_dspark.py and, for Kimi K3's latent
attention, models/kimi_k3/nvidia/dspark_mla.py and configs/k3_dspark.py; public configs of SpecForge. SGLang
0.5.14 has no DSpark, 0.5.23 no K3DSparkModel.

Uncertain: ModelOpt and TensorRT-LLM write the heads as ``markov_w1``, ``markov_w2`` and ``confidence_proj``
under an architecture that still says DFlash, which ``zoo.drafts.names`` explains; their switch is
``use_confidence_head``, and the head then reads the Markov embedding too. With a reduced draft vocabulary
``markov_w2`` has that many rows in speculators and vLLM; SpecForge and SGLang know only the full one, as
here. Of K3DSparkModel no published header was read. A draft bundled in its target (``dspark_*`` keys,
``mtp.*`` tensors) and drafts with MiniMax, Gemma or DeepSeek V4 layers are not inventoried.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.drafts import Inventory, dflash
from zoo.drafts.parts import (
    MAX_LAYERS,
    NotInventoriedError,
    extend,
    head_keys,
    latent_layer_shapes,
    names_one_of,
    refuse_nested,
    size,
)

# Other backbones under a DSpark head: recognised, but with layers of their own.
OTHER_BACKBONES = (
    "DSparkMiniMaxDraftModel",
    "DeepseekV4ForCausalLMDSpark",
    "Gemma4DSparkModel",
    "MuseSparkDSparkModel",
)
MLA_ARCHITECTURES = ("K3DSparkModel",)
ARCHITECTURES = (
    "DSparkDraftModel",
    "Qwen3DSparkModel",
    "LingDSparkModel",
    "Lfm2DSparkDraftModel",
    *MLA_ARCHITECTURES,
    *OTHER_BACKBONES,
    "DSparkSpeculator",
)


def inventory(config: Mapping[str, Any], dtype: str) -> Inventory:
    """Every tensor of the draft that ``config`` describes: 7 + 11 x layers with a vanilla Markov head and a
    confidence head.

    Shapes beyond DFlash, with H hidden, V vocabulary, r Markov rank: markov_head.markov_w1 and markov_w2
    [V, r]; a gated head adds gate_proj [r, H+r] and its bias [r], an rnn head joint_proj [3*r, 2*r+H] and its
    bias [3*r]; confidence_head.proj [1, H] (or [1, H+r] with Markov) and its bias [1]. A Markov rank of 0
    means no Markov head; SpecForge allows that, SGLang does not.

    Kimi K3's (K3DSparkModel) has 5 + 12 x layers and the confidence head: context_proj [H, K*T], with K
    ``num_target_layers`` and T ``target_hidden_size``, context_norm and final_norm [H] in the places of fc,
    hidden_norm and norm, layers as in :func:`latent_layer_shapes`.

    Every key must be stated, for the defaults differ: where ``enable_confidence_head`` is absent, SGLang
    takes the head as enabled and SpecForge asks whether its loss has a weight.

    Raises:
        KeyError: a dimension or a switch is not stated anywhere in the config.
        TypeError: a dimension is not a sensible integer, a switch no boolean, or the kind of head unknown.
        NotInventoriedError: another backbone, latent attention of another kind, or the nested config of
            speculators.
    """
    if names_one_of(config, OTHER_BACKBONES):
        raise NotInventoriedError("a DSpark draft with a backbone other than Qwen3's is not inventoried")
    if names_one_of(config, MLA_ARCHITECTURES):
        return extend(_latent(config, dtype), head_shapes(config, size(config, "hidden_size")), dtype)
    base = dflash.inventory(config, dtype)
    (hidden,) = base["norm.weight"].shape
    return extend(base, head_shapes(config, hidden), dtype)


def head_shapes(config: Mapping[str, Any], hidden: int) -> dict[str, tuple[int, ...]]:
    """The tensors of the two heads over a draft that is ``hidden`` wide."""
    keys = head_keys(config, "dspark_config")
    rank = 0 if keys["markov_rank"] == 0 else size(keys, "markov_rank")
    shapes: dict[str, tuple[int, ...]] = {}
    if rank:
        vocab = size(config, "vocab_size")
        shapes |= {f"markov_head.markov_w{number}.weight": (vocab, rank) for number in (1, 2)}
        shapes |= _mixer(keys["markov_head_type"], hidden, rank)
    if "enable_confidence_head" not in keys and "use_confidence_head" in keys:
        keys |= {"enable_confidence_head": keys["use_confidence_head"]}
        keys.setdefault("confidence_head_with_markov", True)
    if _switch(keys, "enable_confidence_head"):
        width = hidden + (rank if _switch(keys, "confidence_head_with_markov") else 0)
        shapes |= {"confidence_head.proj.weight": (1, width), "confidence_head.proj.bias": (1,)}
    return shapes


def _latent(config: Mapping[str, Any], dtype: str) -> Inventory:
    refuse_nested(config)
    gates = ("mla_use_output_gate", "mla_use_qk_norm", "mla_use_nope")
    if any(config.get(gate) for gate in gates) or config.get("q_lora_rank", 1) is None:
        raise NotInventoriedError(
            "a K3DSparkModel draft is inventoried as vLLM 0.33.0 reads it, so not inventoried with an output "
            "gate, query norm or NoPE, or without q_lora_rank"
        )
    hidden, target = size(config, "hidden_size"), size(config, "target_hidden_size")
    shapes: dict[str, tuple[int, ...]] = {
        "context_proj.weight": (hidden, size(config, "num_target_layers", most=MAX_LAYERS) * target),
        "context_norm.weight": (hidden,),
        "final_norm.weight": (hidden,),
    }
    layer = latent_layer_shapes(config, hidden)
    for index in range(size(config, "num_hidden_layers", most=MAX_LAYERS)):
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
    return extend({}, shapes, dtype)


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
