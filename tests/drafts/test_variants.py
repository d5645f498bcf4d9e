"""Variants inside a family: other layers, other names, latent attention, and what a file may lack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drafts.configs import (
    DSPARK,
    DSPARK_LATENT,
    EAGLE3,
    EAGLE3_LATENT,
    KIMI,
    LAGUNA,
    Config,
    nbytes,
    with_head,
)
from zoo.drafts import dflash, dspark, eagle3
from zoo.drafts.family import NotInventoriedError

BF16 = "bfloat16"


def without(config: Config, *keys: str) -> Config:
    return {key: value for key, value in config.items() if key not in keys}


def test_a_laguna_draft_has_the_parameters_of_the_published_one() -> None:
    inventory = dflash.inventory(LAGUNA, BF16)
    assert (len(inventory), nbytes(inventory) // 2) == (3 + 6 + 12 * 6, 1_114_977_792)
    assert inventory["aux_hidden_norms.5.weight"].shape == (3072,)
    assert inventory["layers.0.self_attn.g_proj.weight"].shape == (72, 3072)


@pytest.mark.parametrize(
    ("gating", "rows"),
    [(True, 72), ("per-element", 72 * 128), (False, None), ("disabled", None), (None, None)],
)
def test_the_gate_of_a_laguna_draft_follows_its_key(gating: Any, rows: int | None) -> None:
    inventory = dflash.inventory({**LAGUNA, "gating": gating}, BF16)
    gate = inventory.get("layers.3.self_attn.g_proj.weight")
    assert (gate and gate.shape) == (rows and (rows, 3072))


def test_a_laguna_draft_without_the_key_has_a_gate_per_head() -> None:
    assert dflash.inventory(without(LAGUNA, "gating"), BF16) == dflash.inventory(LAGUNA, BF16)


def test_a_laguna_draft_with_other_heads_in_a_layer_is_not_inventoried() -> None:
    same = {**LAGUNA, "num_attention_heads_per_layer": [72] * 6}
    assert dflash.inventory(same, BF16) == dflash.inventory(LAGUNA, BF16)
    with pytest.raises(NotInventoriedError, match="differ in heads"):
        dflash.inventory({**same, "num_attention_heads_per_layer": [72, 36]}, BF16)


def test_an_assistant_draft_is_dflash_with_other_names_for_the_fusion_layer() -> None:
    flat = {**without(KIMI, "dflash_config"), "target_layer_ids": KIMI["dflash_config"]["target_layer_ids"]}
    inventory = dflash.inventory({**flat, "architectures": ["MuseGlimmerAssistantModel"]}, BF16)
    plain = dflash.inventory(KIMI, BF16)
    assert (len(inventory), nbytes(inventory)) == (len(plain), nbytes(plain))
    assert set(inventory) - set(plain) == {"encoder.fc.weight", "encoder.output_norm_enc.weight"}


def test_sinks_and_an_own_embedding_are_tensors_where_the_config_says_so() -> None:
    sinks = dflash.inventory(with_head(KIMI, attention_sink_bias=True), BF16)
    assert sinks["layers.5.self_attn.attention_sink_bias"].shape == (64,)
    assert len(sinks) == 69 + 6
    own = {**KIMI, "has_embed_tokens": True}
    assert dflash.inventory(own, BF16)["embed_tokens.weight"].shape == (163840, 7168)
    with pytest.raises(NotInventoriedError, match="quantized"):
        dflash.inventory({**own, "quantization_config": {"quant_algo": "W4A16_NVFP4"}}, BF16)


def test_a_window_needs_no_tensor() -> None:
    window = {"layer_types": ["sliding_attention"] * 6, "sliding_window": 2048, "use_sliding_window": True}
    assert dflash.inventory({**KIMI, **window}, BF16) == dflash.inventory(KIMI, BF16)


def test_a_latent_eagle3_draft_has_latent_attention_over_twice_the_width() -> None:
    must, may = eagle3.inventory(EAGLE3_LATENT, BF16), eagle3.optional(EAGLE3_LATENT, BF16)
    assert len(must) == 16
    assert set(may) == {"embed_tokens.weight", "d2t", "t2d"}
    shapes = {name.removeprefix("midlayer.self_attn."): spec.shape for name, spec in must.items()}
    assert shapes["q_a_proj.weight"] == (1536, 2 * 7168)
    assert shapes["kv_a_proj_with_mqa.weight"] == (512 + 64, 2 * 7168)
    assert shapes["q_b_proj.weight"] == (64 * (128 + 64), 1536)
    assert shapes["kv_b_proj.weight"] == (64 * (128 + 128), 512)
    assert shapes["o_proj.weight"] == (7168, 64 * 128)
    assert "q_proj.weight" not in shapes
    assert shapes["fc.weight"] == (7168, 3 * 7168)


def test_a_latent_draft_without_a_rank_for_the_query_has_one_projection() -> None:
    inventory = eagle3.inventory({**EAGLE3_LATENT, "q_lora_rank": None}, BF16)
    assert inventory["midlayer.self_attn.q_proj.weight"].shape == (64 * 192, 2 * 7168)
    assert len(inventory) == 14


@pytest.mark.parametrize("key", ["q_lora_rank", "kv_lora_rank", "v_head_dim"])
def test_a_latent_dimension_that_is_left_to_a_default_is_named(key: str) -> None:
    with pytest.raises(NotInventoriedError, match=f"not inventoried where its config leaves {key}"):
        eagle3.inventory(without(EAGLE3_LATENT, key), BF16)


def test_a_reduced_vocabulary_of_a_latent_draft_brings_the_maps() -> None:
    assert {"d2t", "t2d"} <= eagle3.inventory({**EAGLE3_LATENT, "draft_vocab_size": 32000}, BF16).keys()


def test_kimi_k3s_dspark_draft_has_latent_layers_and_names_of_its_own() -> None:
    inventory = dspark.inventory(DSPARK_LATENT, BF16)
    assert len(inventory) == 3 + 12 * 5 + 4
    assert inventory["context_proj.weight"].shape == (7168, 5 * 7168)
    assert inventory["layers.4.self_attn.q_a_proj.weight"].shape == (1536, 7168)
    assert inventory["confidence_head.proj.weight"].shape == (1, 7168 + 256)
    assert {"context_norm.weight", "final_norm.weight"} <= inventory.keys()


@pytest.mark.parametrize(
    "change", [{"mla_use_output_gate": True}, {"mla_use_nope": True}, {"q_lora_rank": None}]
)
def test_what_vllm_refuses_of_kimi_k3s_draft_is_not_inventoried(change: Config) -> None:
    with pytest.raises(NotInventoriedError, match="not inventoried"):
        dspark.inventory({**DSPARK_LATENT, **change}, BF16)


def test_the_switch_of_modelopt_stands_for_the_confidence_head() -> None:
    switches = dict.fromkeys(("enable_confidence_head", "confidence_head_with_markov"))
    config = with_head(DSPARK, **switches, use_confidence_head=True)
    assert dspark.inventory(config, BF16) == dspark.inventory(DSPARK, BF16)
    assert len(dspark.inventory(with_head(config, use_confidence_head=False), BF16)) == 60


def test_a_layer_after_the_first_is_narrower_and_may_lack_a_norm_that_sglang_does_not_read() -> None:
    config = {**EAGLE3, "num_hidden_layers": 3}
    must, may = eagle3.inventory(config, BF16), eagle3.optional(config, BF16)
    assert len(must) == 15 + 2 * 9
    assert must["layers.0.self_attn.q_proj.weight"].shape == (4096, 2 * 4096)
    assert must["layers.2.self_attn.q_proj.weight"].shape == (4096, 4096)
    assert "layers.0.input_layernorm.weight" in must
    assert {"layers.1.input_layernorm.weight", "layers.2.input_layernorm.weight"} <= may.keys()


def test_qwen3_layers_of_eagle3_have_norms_on_query_and_key() -> None:
    inventory = eagle3.inventory({**EAGLE3, "architectures": ["Eagle3Qwen3ForCausalLM"]}, BF16)
    assert inventory["midlayer.self_attn.q_norm.weight"].shape == (128,)
    assert len(inventory) == 17


def test_a_file_of_modelopt_has_layers_0_and_no_t2d() -> None:
    tensors = eagle3.inventory(EAGLE3, BF16)
    renamed = {name.replace("midlayer.", "layers.0."): spec for name, spec in tensors.items()}
    held = [name for name in renamed if name != "t2d"]
    assert set(eagle3.spelled_as(held, tensors)) == set(held)
    assert eagle3.spelled_as(list(renamed), tensors) == renamed
    assert eagle3.spelled_as([name for name in tensors if name != "t2d"], tensors) == tensors
