"""vLLM 0.33.0: what it knows of drafts, and its reading of one. Read in the published wheel, never run.

vLLM is strict about what it does not know (a tensor without a place stops the start, but for biases and
rotary buffers) and lax about what is missing: the draft classes return no list of what they loaded, so
nothing compares. The method is the command's; a reading takes the one that the architecture belongs to.

Sources: vllm 0.33.0, model_executor/models/{registry,qwen3_dflash,qwen3_dflash2,qwen3_dspark,llama_eagle3,
qwen3_eagle3,deepseek_eagle3,utils}.py, config/speculative.py, transformers_utils/{config.py,configs/eagle.py,
configs/speculators/}, v1/worker/gpu/spec_decode/.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zoo.engines.readings.hfconfig import seen_by_engine
from zoo.engines.readings.model import (
    EngineProfile,
    EngineReading,
    Fate,
    Refusal,
    Tensors,
    ignored_keys,
)
from zoo.engines.readings.ropes import refused_rope
from zoo.engines.readings.sglang_dflash import Refused
from zoo.engines.readings.sglang_eagle3 import check_layers
from zoo.engines.readings.vllm_models import DFlash, DSpark, Eagle3, Eagle3MLA
from zoo.engines.readings.vllm_speculators import flattened

_DFLASH = "DFlashQwen3ForCausalLM"
_IDS = (
    "eagle_aux_hidden_state_layer_ids at the top level: the output of layer i - 1; else "
    "dflash_config.target_layer_ids or a top-level target_layer_ids: the output of layer i"
)
PROFILE = EngineProfile(
    engine="vllm",
    version="0.33.0",
    algorithms=("dflash", "dspark", "eagle3", "eagle", "mtp", "draft_model", "ngram", "suffix"),
    architectures={
        "DFlashDraftModel": ("dflash", _DFLASH),
        "MuseGlimmerAssistantModel": ("dflash", _DFLASH),
        "DFlash2DraftModel": ("dflash", "DFlash2Qwen3ForCausalLM"),
        "Qwen3DSparkModel": ("dspark", "Qwen3DSparkForCausalLM"),
        "DSparkDraftModel": ("dspark", "Qwen3DSparkForCausalLM"),
        "LlamaForCausalLMEagle3": ("eagle3", "Eagle3LlamaForCausalLM"),
        "Eagle3LlamaForCausalLM": ("eagle3", "Eagle3LlamaForCausalLM"),
        "PeagleLlamaForCausalLM": ("eagle3", "Eagle3LlamaForCausalLM"),
        "Eagle3Qwen3ForCausalLM": ("eagle3", "Eagle3Qwen3ForCausalLM"),
        "PeagleQwen3ForCausalLM": ("eagle3", "Eagle3Qwen3ForCausalLM"),
        "Eagle3DeepseekV2ForCausalLM": ("eagle3", "Eagle3DeepseekV2ForCausalLM"),
        "Eagle3DeepseekV3ForCausalLM": ("eagle3", "Eagle3DeepseekV2ForCausalLM"),
    },
    layer_ids={
        "dflash": _IDS,
        "dspark": _IDS,
        "eagle3": "eagle_aux_hidden_state_layer_ids at the top level: the output of layer i - 1; inside "
        "eagle_config they are not read by the default runner (V2); absent: layers 1, n/2 - 1, n - 4",
    },
    config_keys={
        "dflash_config": tuple(
            "attention_sink_bias attention_value_scale causal conv_group_size conv_kernel_size "
            "final_logit_softcapping input_embedding_scale layer_ids mask_token_id output_multiplier "
            "sample_from_anchor selector_rank selector_top_k swa_window_size target_layer_ids "
            "use_aux_hidden_state use_swa".split()
        ),
        "eagle_config": ("layer_ids", "norm_before_fc", "use_aux_hidden_state"),
    },
    source="vllm 0.33.0: config/speculative.py, model_executor/models/*.py, v1/worker/gpu/spec_decode/",
)
PROFILES = (PROFILE,)
# Architectures of drafts that were not read: nothing is said of them.
UNREAD = {
    "0.33.0": (
        "DFlash2BeamDraftModel",
        "DFlashLagunaForCausalLM",
        "LiLiCorrDraftModel",
        "K3DSparkModel",
        "Qwen3OmniDSparkModel",
        "Gemma4DSparkModel",
    )
}
_CLASSES: Mapping[str, Any] = {
    "Qwen3DSparkForCausalLM": DSpark,
    "Eagle3LlamaForCausalLM": Eagle3,
    "Eagle3Qwen3ForCausalLM": Eagle3,
    "Eagle3DeepseekV2ForCausalLM": Eagle3MLA,
}


def reading(
    profile: EngineProfile, config: Mapping[str, Any], tensors: Tensors, target_layers: int | None
) -> EngineReading:
    """What vLLM makes of a draft (``zoo.engines.readings.reading_of``)."""
    base = EngineReading(profile.engine, profile.version)
    try:
        flat = flattened(config)
        architecture = next(name for name in flat["architectures"] if name in profile.architectures)
        algorithm, loads_as = profile.architectures[architecture]
        base = replace(base, algorithm=algorithm, loads_as=loads_as)
        seen, refusals = seen_by_engine(flat, profile.engine, profile.version)
        wrong = check_layers(seen) or refused_rope(seen, profile.engine, loads_as)
        if refusals or wrong is not None:
            return _refused(base, refusals or [wrong], tensors)  # type: ignore[list-item]
        draft = _CLASSES.get(loads_as, DFlash)(seen, architecture, target_layers)
        made = draft.load(tensors)
    except Refused as error:
        return _refused(base, [error.refusal], tensors)
    return replace(
        base,
        refusals=tuple(made.refusals),
        fates=made.fates,
        missing={} if made.refusals else draft.missing(made),
        faults=tuple(draft.faults),
        layer_ids=draft.layer_ids,
        block_size=draft.block_size,
        ignored_keys=ignored_keys(flat, profile),
        notes=(*draft.notes, *made.notes),
    )


def _refused(base: EngineReading, refusals: list[Refusal], tensors: Tensors) -> EngineReading:
    return replace(base, refusals=tuple(refusals), fates=dict.fromkeys(tensors, Fate.REFUSED))
