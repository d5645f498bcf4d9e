"""A family is recognised from a config and from tensor names, and the two may contradict each other."""

from __future__ import annotations

import pytest

from tests.drafts.configs import (
    DFLASH2,
    DOMINO,
    DSPARK,
    EAGLE3,
    KIMI,
    NESTED,
    PLAIN,
    PUBLIC,
    Config,
    with_head,
)
from zoo.drafts import dspark
from zoo.drafts.family import FAMILIES, Family, family_of, family_of_names

HOST = {"architectures": ["DFlashDraftModel"], "model_type": "qwen3"}
NAMED = [family for family in FAMILIES if family.own]


def name_of(config: Config) -> str | None:
    family = family_of(config)
    return None if family is None else family.name


def named_by(*names: str) -> str | None:
    family = family_of_names(names)
    return None if family is None else family.name


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_draft_is_recognised_from_its_config(family: Family) -> None:
    assert family_of(PUBLIC[family.name]) is family


@pytest.mark.parametrize("kind", NESTED)
def test_a_draft_of_speculators_is_recognised_from_its_config_and_from_its_names(kind: str) -> None:
    family = family_of(NESTED[kind])
    assert family is not None
    assert family.name == kind
    assert family_of_names(family.inventory(NESTED[kind], "bfloat16")) is family


@pytest.mark.parametrize("family", NAMED, ids=lambda family: family.name)
def test_a_draft_is_recognised_from_its_names(family: Family) -> None:
    assert family_of_names(family.inventory(PUBLIC[family.name], "bfloat16")) is family


@pytest.mark.parametrize(
    "family", [family for family in NAMED if family.name != "medusa"], ids=lambda f: f.name
)
def test_a_prefix_does_not_hide_a_family(family: Family) -> None:
    inventory = family.inventory(PUBLIC[family.name], "bfloat16")
    assert family_of_names(f"draft_model.{name}" for name in inventory) is family


def test_every_family_has_one_name_a_source_and_what_is_uncertain() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(family.source and family.uncertain for family in FAMILIES)
    assert {family.name for family in FAMILIES if not family.own} == {"eagle", "plain"}


@pytest.mark.parametrize(("name", "config"), [("dflash2", DFLASH2), ("dspark", DSPARK), ("domino", DOMINO)])
def test_the_keys_of_a_head_win_over_an_architecture_that_says_dflash(name: str, config: Config) -> None:
    assert name_of({**config, **HOST}) == name


def test_a_dspark_head_is_seen_without_projector_type_and_at_the_top_level() -> None:
    assert name_of({**with_head(DSPARK, projector_type=None), **HOST}) == "dspark"
    assert name_of({**KIMI, "markov_rank": 256}) == "dspark"


def test_a_config_that_says_dflash_over_dspark_tensors_shows_as_a_contradiction() -> None:
    names = dspark.inventory(DSPARK, "bfloat16")
    assert name_of(KIMI) == "dflash"
    assert named_by(*names) == "dspark"


def test_a_dspark_config_over_a_file_that_lost_its_heads_shows_as_a_contradiction() -> None:
    names = [name for name in dspark.inventory(DSPARK, "bfloat16") if "_head." not in name]
    assert name_of(DSPARK) == "dspark"
    assert named_by(*names) == "dflash"


def test_a_stated_projector_type_decides_between_two_heads() -> None:
    both = with_head(DSPARK, gru_hidden_dim=1024, emb_dim=256)
    assert name_of(both) == "dspark"
    assert name_of(with_head(both, projector_type="domino")) == "domino"


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("dflash2", {"architectures": ["DFlash2DraftModel"]}),
        ("dflash2", {"model_type": "qwen3_dflash2"}),
        ("dspark", {"architectures": ["K3DSparkModel"]}),
        ("dspark", {"model_type": "qwen3_dspark"}),
        ("domino", {"architectures": ["DominoDraftModel"]}),
        ("eagle3", {"architectures": ["Eagle3DeepseekV2ForCausalLM"]}),
        ("eagle3", {"architectures": ["Eagle3DraftModel"], "speculators_model_type": "eagle3"}),
        ("eagle3", {"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 2, 3]}}),
        ("peagle", {"speculators_model_type": "peagle"}),
        ("dflash", {"model_type": "dflash"}),
        ("dflash", {"dflash_config": {}}),
        (None, {}),
        (None, {"model_type": "qwen3"}),
        (None, {"architectures": ["DeepseekV4ForCausalLM"], "dspark_markov_rank": 256}),
        (None, {"architectures": ["DeepseekV3ForCausalLM"], "num_nextn_predict_layers": 1}),
        (None, {"architectures": ["DFlashNewForCausalLM"], "dflash_config": {"target_layer_ids": [1]}}),
        (None, {"architectures": ["Eagle4LlamaForCausalLM"]}),
        (None, {"architectures": ["Gemma4AssistantForCausalLM"]}),
        (None, {"architectures": ["Qwen3XPressModel"], "dflash_config": {"target_layer_ids": [1]}}),
        (None, {"speculators_model_type": "xpress", "architectures": ["DFlashDraftModel"]}),
        ("dflash", {"architectures": ["DFlashLagunaForCausalLM"]}),
        ("dflash", {"architectures": ["MuseGlimmerAssistantModel"]}),
        ("eagle3", {"architectures": ["Eagle3Qwen3ForCausalLM"]}),
        ("eagle", {"architectures": ["LlamaForCausalLMEagle"]}),
        ("eagle", {"architectures": ["EagleMistralForCausalLM"]}),
        ("mtp", {"architectures": ["DeepseekV3ForCausalLMNextN"]}),
        ("mtp", {"architectures": ["Qwen3_5MTP"]}),
        ("mtp", {"architectures": ["DeepSeekMTPModel"]}),
        ("medusa", {"medusa_num_heads": 5}),
        ("medusa", {"model_type": "medusa"}),
        ("plain", {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}),
        ("plain", {"architectures": ["LlamaForCausalLM"], "eagle_config": None}),
    ],
)
def test_one_word_of_a_config_is_enough_or_says_nothing(name: str | None, config: Config) -> None:
    assert name_of(config) == name


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("dspark", "markov_w1.weight"),
        ("dspark", "confidence_proj.bias"),
        ("domino", "embed_proj.2.weight"),
        ("dflash2", "layers.0.mlp_conv.base_kernel"),
        ("eagle3", "layers.0.hidden_norm.weight"),
        ("dflash", "context_proj.weight"),
        ("dflash", "context_norm.weight"),
        ("mtp", "mtp.fc.weight"),
        ("mtp", "model.layers.61.eh_proj.weight"),
        ("medusa", "0.0.linear.weight"),
        (None, "fc.weight"),
        (None, "model.layers.0.self_attn.q_proj.weight"),
        (None, ""),
    ],
)
def test_a_foreign_spelling_says_the_family_too(name: str | None, tensor: str) -> None:
    assert named_by(tensor) == name


def test_no_names_and_the_names_of_an_ordinary_model_are_no_draft() -> None:
    assert named_by() is None
    assert named_by("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight") is None


def test_the_layer_of_a_p_eagle_draft_is_not_taken_for_eagle3() -> None:
    assert named_by("layers.0.hidden_norm.weight", "mask_hidden") == "peagle"
    assert name_of({**EAGLE3, "architectures": ["PEagleDraftModel"]}) == "peagle"


def test_two_architectures_or_a_key_of_a_draft_are_no_ordinary_model() -> None:
    assert name_of(PLAIN) == "plain"
    assert name_of({**PLAIN, "architectures": ["Qwen3ForCausalLM", "LlamaForCausalLM"]}) is None
    for key in ("draft_vocab_size", "target_layer_ids", "mtp_num_layers", "dspark_block_size"):
        assert name_of({**PLAIN, key: 1}) is None
