"""What engines serve wrongly, refuse or never use, each at the smallest draft that shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.corpus.families import HIDDEN, Draft, deeper, eagle3, latent, peagle, speculators
from tests.corpus.kit import config, draft_tensors
from zoo.engines.readings import KNOWN, EngineReading, Fate, Missing, reading_of
from zoo.engines.readings.hfconfig import model_types

OLD, NEW, VLLM = KNOWN
Engine = tuple[str, str]


def dflash(**changes: Any) -> Draft:
    return Draft("dflash", config(**changes), draft_tensors())


def read(engine: Engine, draft: Draft) -> EngineReading:
    tensors = {name: (dtype, shape) for name, (dtype, shape, _) in draft.tensors.items()}
    return reading_of(*engine, draft.config, tensors)


def changed(draft: Draft, *lost: str, **keys: Any) -> Draft:
    tensors = {name: tensor for name, tensor in draft.tensors.items() if name not in lost}
    return replace(draft, config=draft.config | keys, tensors=tensors)


def aux_states(draft: Draft, switch: object) -> Draft:
    block = draft.config["eagle_config"] | {"use_aux_hidden_state": switch}
    return changed(draft, eagle_config=block)


@pytest.mark.parametrize("engine", KNOWN)
def test_a_head_cut_out_of_the_targets_is_a_fault(engine: Engine) -> None:
    (fault,) = read(engine, changed(eagle3(), "lm_head.weight", tie_word_embeddings=True)).faults
    assert "first 200 rows" in fault or "rows of the target's" in fault
    assert read(engine, eagle3()).faults == ()


def test_vllm_reads_the_head_of_a_tied_draft_and_sglang_does_not() -> None:
    tied = changed(eagle3(), tie_word_embeddings=True)
    assert read(OLD, tied).faults
    assert read(VLLM, tied).faults == ()


@pytest.mark.parametrize("engine", KNOWN)
@pytest.mark.parametrize("draft", [eagle3(), latent(eagle3())], ids=["eagle3", "latent"])
def test_a_fusion_layer_that_is_never_run_is_a_fault(engine: Engine, draft: Draft) -> None:
    reading = read(engine, aux_states(draft, False))
    assert len(reading.faults) == 1
    assert "fc" in reading.faults[0]
    assert reading.refusals == ()
    assert read(engine, aux_states(draft, True)).faults == ()


@pytest.mark.parametrize("engine", [OLD, NEW])
def test_without_aux_states_and_without_fc_nothing_is_wrong(engine: Engine) -> None:
    reading = read(engine, aux_states(changed(eagle3(), "fc.weight"), False))
    assert reading.faults == ()
    assert reading.missing["fc.weight"] is Missing.UNUSED


@pytest.mark.parametrize("engine", KNOWN)
@pytest.mark.parametrize("kind", ["qlama", "", "qwen3 ", "dflash", "domino"])
def test_a_model_type_that_nobody_knows_is_refused(engine: Engine, kind: str) -> None:
    (refusal,) = read(engine, dflash(model_type=kind)).refusals
    assert refusal.kind == "model type"
    assert read(engine, dflash()).refusals == ()


def test_model_types_are_those_of_the_version() -> None:
    assert "k3_dspark" in model_types(*VLLM)
    assert "k3_dspark" not in model_types(*NEW)
    assert "muse_glimmer_assistant" in model_types(*NEW)
    assert "muse_glimmer_assistant" not in model_types(*OLD)
    assert all({"qwen3", "llama", "deepseek_v3", "kimi_k2"} <= model_types(*engine) for engine in KNOWN)


@pytest.mark.parametrize("kind", ["ntk", "su", "mllama4", "openpangu", "bailing_mrope"])
def test_sglang_has_no_rope_of_these_types(kind: str) -> None:
    rope = {"rope_type": kind, "factor": 2.0, "short_factor": [1.0], "long_factor": [1.0]}
    for engine in (OLD, NEW):
        (refusal,) = read(engine, dflash(rope_scaling=rope)).refusals
        assert refusal.key == "rope.type"
    assert read(VLLM, dflash(rope_scaling=rope)).refusals == ()


@pytest.mark.parametrize("engine", KNOWN)
@pytest.mark.parametrize(
    ("rope", "key"),
    [
        ({"rope_type": "longrope"}, "rope.short_factor"),
        ({"rope_type": "longrope", "short_factor": [1.0]}, "rope.long_factor"),
        ({"type": "llama3", "factor": 8.0, "low_freq_factor": 1.0}, "rope.high_freq_factor"),
        ({"rope_type": "yarn"}, "rope.factor"),
        ({"rope_type": "default", "mrope_section": "16, 24, 24"}, "rope.mrope_section"),
        ({"rope_type": "default", "mrope_section": [16, "24", 24]}, "rope.mrope_section"),
    ],
)
def test_a_rope_that_cannot_be_built_is_refused(engine: Engine, rope: dict[str, Any], key: str) -> None:
    for name in ("rope_scaling", "rope_parameters"):
        (refusal,) = read(engine, dflash(**{"rope_scaling": None, name: rope})).refusals
        assert refusal.key == key


def test_vllm_builds_biases_of_a_llama_mlp() -> None:
    biases = {"layers.0.mlp.gate_proj.bias", "layers.0.mlp.up_proj.bias", "layers.0.mlp.down_proj.bias"}
    reading = read(VLLM, changed(eagle3(), mlp_bias=True))
    assert {name for name, held in reading.missing.items() if held is Missing.RANDOM} == biases
    assert biases.isdisjoint(read(OLD, changed(eagle3(), mlp_bias=True)).missing)


@pytest.mark.parametrize("engine", [OLD, NEW])
def test_the_mlp_of_llama4_has_a_width_of_its_own(engine: Engine) -> None:
    draft = changed(eagle3(), model_type="llama4_text")
    width = draft.config["intermediate_size"]
    other = changed(draft, intermediate_size=7, intermediate_size_mlp=width)
    assert read(engine, other).refusals == ()
    assert read(engine, changed(draft, intermediate_size_mlp=4 * width, intermediate_size=width)).notes != ()


@pytest.mark.parametrize(
    ("gating", "rows"),
    [(None, 0), (False, 0), ("disabled", 0), (True, 1), ("per-head", 1), ("per-element", 16)],
)
def test_the_gate_of_laguna(gating: object, rows: int) -> None:
    draft = changed(dflash(architectures=["DFlashLagunaForCausalLM"], head_dim=16), gating=gating)
    reading = read(NEW, draft)
    assert ("layers.0.self_attn.g_proj.weight" in reading.missing) is bool(rows)
    heads = draft.config["num_attention_heads"]
    gated = replace(
        draft,
        tensors=draft.tensors
        | {"layers.0.self_attn.g_proj.weight": ("BF16", (heads * (rows or 1), HIDDEN), b"")},
    )
    fate = read(NEW, gated).fates["layers.0.self_attn.g_proj.weight"]
    assert fate is (Fate.READ if rows else Fate.IGNORED)
    absent = dict(draft.config)
    del absent["gating"]
    assert "layers.0.self_attn.g_proj.weight" in read(NEW, replace(draft, config=absent)).missing
    assert read(NEW, dflash(architectures=["DFlashLagunaForCausalLM"], gating="half")).refusals


def test_a_norm_that_is_never_run_is_not_missed() -> None:
    nested = read(VLLM, speculators(peagle()))
    assert nested.missing["layers.1.hidden_norm.weight"] is Missing.UNUSED
    assert Missing.RANDOM not in nested.missing.values()
    for engine in (OLD, NEW):
        reading = read(engine, deeper(eagle3(layer="layers.0")))
        assert reading.missing["layers.1.input_layernorm.weight"] is Missing.UNUSED
    flat = read(VLLM, deeper(eagle3(layer="layers.0")))
    assert flat.missing["layers.1.input_layernorm.weight"] is Missing.RANDOM


@pytest.mark.parametrize(
    "changes",
    [
        {"speculators_model_type": "dflash", "aux_hidden_state_layer_ids": [[]]},
        {"speculators_model_type": "dspark", "aux_hidden_state_layer_ids": ["a"]},
        {"speculators_model_type": "dspark", "aux_hidden_state_layer_ids": [1], "architectures": 1},
        {"speculators_model_type": []},
        {"transformer_layer_config": {"model_type": []}},
    ],
)
@pytest.mark.parametrize("engine", KNOWN)
def test_a_nested_config_of_nonsense_has_a_reading(engine: Engine, changes: dict[str, Any]) -> None:
    assert read(engine, changed(speculators(peagle()), **changes)).refusals
