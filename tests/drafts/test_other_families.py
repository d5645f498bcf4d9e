"""The families that only part of the sources decide: EAGLE-1/2, Medusa, MTP and the plain small model."""

from __future__ import annotations

import pytest

from tests.drafts.configs import EAGLE, MEDUSA, NESTED, PLAIN, Config
from zoo.drafts import eagle, medusa
from zoo.drafts.family import NotInventoriedError, family_of

BF16 = "bfloat16"


def test_an_eagle_draft_is_a_llama_layer_without_its_first_norm() -> None:
    must, may = eagle.inventory(EAGLE, BF16), eagle.optional(EAGLE, BF16)
    assert len(must) == 9
    assert must["fc.weight"].shape == (4096, 2 * 4096)
    assert must["layers.0.self_attn.q_proj.weight"].shape == (4096, 4096)
    assert "layers.0.input_layernorm.weight" not in must
    assert {name: spec.shape for name, spec in may.items()} == {
        "embed_tokens.weight": (151936, 4096),
        "fc.bias": (4096,),
        "lm_head.weight": (151936, 4096),
    }
    assert "layers.1.input_layernorm.weight" in eagle.inventory({**EAGLE, "num_hidden_layers": 2}, BF16)


def test_an_eagle_draft_with_other_layers_is_not_inventoried() -> None:
    with pytest.raises(NotInventoriedError, match="other layers than Llama's"):
        eagle.inventory({**EAGLE, "architectures": ["Qwen2ForCausalLMEagle"]}, BF16)


def test_five_medusa_heads_of_one_block_are_fifteen_tensors() -> None:
    inventory = medusa.inventory(MEDUSA, BF16)
    assert len(inventory) == 15
    assert inventory["4.0.linear.weight"].shape == (4096, 4096)
    assert inventory["4.0.linear.bias"].shape == (4096,)
    assert inventory["4.1.weight"].shape == (32000, 4096)


def test_a_medusa_config_that_leaves_its_dimensions_to_the_target_is_answered_with_the_count() -> None:
    published = {"medusa_num_heads": 5, "medusa_num_layers": 1, "base_model_name_or_path": "owner/name"}
    with pytest.raises(NotInventoriedError, match=r"expect 15 tensors, named 0\.0\.linear\.weight"):
        medusa.inventory(published, BF16)
    with pytest.raises(KeyError, match="medusa_num_layers"):
        medusa.inventory({"medusa_num_heads": 5}, BF16)


@pytest.mark.parametrize("model_type", ["qwen3", "qwen3_5_text"])
def test_an_mtp_layer_of_speculators_is_fifteen_tensors(model_type: str) -> None:
    layer = {**NESTED["mtp"]["transformer_layer_config"], "model_type": model_type}
    config = {**NESTED["mtp"], "transformer_layer_config": layer}
    family = family_of(config)
    assert family is not None
    inventory = family.inventory(config, BF16)
    assert len(inventory) == 15
    assert inventory["mtp_layers.0.input_proj.weight"].shape == (4096, 2 * 4096)
    rows = 4096 if model_type == "qwen3" else 2 * 4096
    assert inventory["mtp_layers.0.self_attn.q_proj.weight"].shape == (rows, 4096)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (PLAIN, "tokenizer and vocabulary must be the target's"),
        (
            {**PLAIN, "architectures": ["DeepseekV3ForCausalLMNextN"]},
            "engines read it from the target's files",
        ),
        (
            {
                **NESTED["mtp"],
                "transformer_layer_config": {"hidden_size": 64, "model_type": "qwen3_5_moe_text"},
            },
            "another model than dense Qwen3",
        ),
    ],
)
def test_what_no_config_decides_is_answered_with_a_sentence(config: Config, sentence: str) -> None:
    family = family_of(config)
    assert family is not None
    with pytest.raises(NotInventoriedError, match=sentence) as raised:
        family.inventory(config, BF16)
    assert "not inventoried" in str(raised.value)
    assert "\n" not in str(raised.value)
