"""SGLang 0.5.14 and 0.5.23: what they know of drafts, and their reading of one.

Read in the published wheels; the loader of 0.5.14 was also run (docs/engines.md says how the two compare).
The algorithm is the command's; a reading takes the one that the architecture belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zoo.engines.readings import sglang_dflash, sglang_eagle3
from zoo.engines.readings.hfconfig import seen_by_engine
from zoo.engines.readings.model import (
    EngineProfile,
    EngineReading,
    Fate,
    Missing,
    Refusal,
    Tensors,
    ignored_keys,
)
from zoo.engines.readings.ropes import refused_rope
from zoo.engines.readings.sglang_dflash import DFlashDraft, DSparkDraft, Refused
from zoo.engines.readings.sglang_eagle3 import Eagle3Draft, Eagle3MLADraft, check_layers

_EAGLE3 = {
    "LlamaForCausalLMEagle3": ("EAGLE3", "LlamaForCausalLMEagle3"),
    "Eagle3DeepseekV2ForCausalLM": ("EAGLE3", "Eagle3DeepseekV2ForCausalLM"),
}
_DFLASH_IDS = "dflash_config.target_layer_ids, else top level: the output of layer i; absent: guessed"
_EAGLE3_IDS = (
    "eagle_config.eagle_aux_hidden_state_layer_ids: the output of layer i; on DeepSeek, Kimi K2 and "
    "GLM-4-lite targets that of layer i - 1, unless the first id is 1; absent: layers 1, n/2 - 1, n - 4"
)
_SOURCE = "sglang {}: models/*.py, speculative/{{dflash_utils,spec_info}}.py, configs/model_config.py"

PROFILES = (
    EngineProfile(
        engine="sglang",
        version="0.5.14",
        algorithms=("DFLASH", "EAGLE", "EAGLE3", "FROZEN_KV_MTP", "STANDALONE", "NGRAM"),
        architectures={"DFlashDraftModel": ("DFLASH", "DFlashDraftModel"), **_EAGLE3},
        layer_ids={"DFLASH": _DFLASH_IDS, "EAGLE3": _EAGLE3_IDS},
        config_keys={
            "dflash_config": sglang_dflash.BLOCK_KEYS["0.5.14"],
            "eagle_config": sglang_eagle3.BLOCK_KEYS["0.5.14"],
        },
        source=_SOURCE.format("0.5.14"),
    ),
    EngineProfile(
        engine="sglang",
        version="0.5.23",
        algorithms=("DFLASH", "UNO", "DSPARK", "EAGLE", "EAGLE3", "FROZEN_KV_MTP", "STANDALONE", "NGRAM"),
        architectures={
            **{
                name: ("DFLASH", name)
                for name in (
                    "DFlashDraftModel",
                    "DFlashLagunaForCausalLM",
                    "MuseGlimmerAssistantModel",
                    "DFlash2DraftModel",
                    "DFlash2BeamDraftModel",
                    "MiniMaxDFlash2DraftModel",
                )
            },
            **{
                name: ("DSPARK", name)
                for name in (
                    "DSparkDraftModel",
                    "Qwen3DSparkModel",
                    "LingDSparkModel",
                    "Lfm2DSparkDraftModel",
                )
            },
            **_EAGLE3,
        },
        layer_ids={"DFLASH": _DFLASH_IDS, "DSPARK": _DFLASH_IDS, "EAGLE3": _EAGLE3_IDS},
        config_keys={
            "dflash_config": sglang_dflash.BLOCK_KEYS["0.5.23"],
            "dspark_config": ("mask_token_id", "markov_head_type", "markov_rank"),
            "eagle_config": sglang_eagle3.BLOCK_KEYS["0.5.23"],
        },
        source=_SOURCE.format("0.5.23"),
    ),
)
# Architectures of drafts that were not read: nothing is said of them.
UNREAD = {
    "0.5.14": (),
    "0.5.23": ("DSparkMiniMaxDraftModel", "DeepseekV4ForCausalLMDSpark", "LiLiCorrDraftModel"),
}


def reading(
    profile: EngineProfile, config: Mapping[str, Any], tensors: Tensors, target_layers: int | None
) -> EngineReading:
    """What this version of SGLang makes of a draft (``zoo.engines.readings.reading_of``)."""
    architecture = _pick(config, profile)
    algorithm, loads_as = profile.architectures[architecture]
    base = EngineReading(profile.engine, profile.version, algorithm, loads_as)
    seen, refusals = seen_by_engine(config, profile.engine, profile.version)
    if refusals:
        return _refused(base, refusals, tensors)
    wrong = check_layers(seen) or refused_rope(seen, profile.engine, loads_as)
    if wrong is not None:
        return _refused(base, [wrong], tensors)
    try:
        if algorithm == "EAGLE3":
            return _eagle3(base, seen, tensors, target_layers)
        return _dflash(base, seen, architecture, tensors, target_layers)
    except Refused as error:
        return _refused(base, [error.refusal], tensors)


def _pick(config: Mapping[str, Any], profile: EngineProfile) -> str:
    """The architecture that the registry takes: the first in the list that it knows."""
    names: list[str] = config["architectures"]
    return next(name for name in names if name in profile.architectures)


def _dflash(
    base: EngineReading,
    seen: Mapping[str, Any],
    architecture: str,
    tensors: Tensors,
    target_layers: int | None,
) -> EngineReading:
    kind = DSparkDraft if base.algorithm == "DSPARK" else DFlashDraft
    draft = kind(seen, architecture, base.version, target_layers)
    made = draft.load(tensors)
    fates = {name: _not_needed(name, fate) for name, fate in made.fates.items()}
    borrowed = {
        name: Missing.BORROWED
        for name in ("embed_tokens.weight", "lm_head.weight")
        if Fate.BORROWED not in (fates.get(name), fates.get(f"model.{name}"))
    }
    notes = [*draft.notes, *made.notes]
    if draft.block_size is None:
        notes.append("the config states no block_size; without a flag it takes 16")
    return replace(
        base,
        refusals=tuple(made.refusals),
        fates=fates,
        missing={} if made.refusals else {**made.missing(), **borrowed},
        layer_ids=draft.layer_ids,
        block_size=draft.block_size or 16,
        ignored_keys=ignored_keys(seen, _profile(base)),
        notes=tuple(notes),
    )


def _not_needed(name: str, fate: Fate) -> Fate:
    """What an ignored name loses: nothing where the target's is used instead, or where it is a buffer."""
    if fate is not Fate.IGNORED:
        return fate
    if name.removeprefix("model.") in ("embed_tokens.weight", "lm_head.weight"):
        return Fate.BORROWED
    return Fate.SKIPPED if name.endswith("rotary_emb.inv_freq") else fate


def _eagle3(
    base: EngineReading, seen: Mapping[str, Any], tensors: Tensors, target_layers: int | None
) -> EngineReading:
    kind = Eagle3MLADraft if base.loads_as == "Eagle3DeepseekV2ForCausalLM" else Eagle3Draft
    draft = kind(seen, base.version, target_layers)
    made = draft.load(tensors)
    return replace(
        base,
        refusals=tuple(made.refusals),
        fates=made.fates,
        missing={} if made.refusals else draft.missing(made),
        faults=tuple(draft.faults),
        layer_ids=draft.layer_ids,
        ignored_keys=ignored_keys(seen, _profile(base)),
        notes=(*draft.notes, *made.notes),
    )


def _profile(base: EngineReading) -> EngineProfile:
    return next(profile for profile in PROFILES if profile.version == base.version)


def _refused(base: EngineReading, refusals: list[Refusal], tensors: Tensors) -> EngineReading:
    return replace(base, refusals=tuple(refusals), fates=dict.fromkeys(tensors, Fate.REFUSED))
