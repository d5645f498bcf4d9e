"""The nested layout of speculators: made flat, with the way back, and what its files hold."""

from __future__ import annotations

import pytest

from tests.drafts.configs import DFLASH2, DOMINO, DSPARK, EAGLE3, KIMI, NESTED, PEAGLE, Config, nested
from zoo.drafts import Inventory, dflash, dflash2
from zoo.drafts.family import NotInventoriedError, family_of
from zoo.drafts.layouts import native

BF16 = "bfloat16"
VOCABULARY, REDUCED = 151936, 32000


def tensors(config: Config) -> tuple[Inventory, Inventory]:
    family = family_of(config)
    assert family is not None
    return family.inventory(config, BF16), family.optional(config, BF16)


@pytest.mark.parametrize(
    "config", [KIMI, DFLASH2, DSPARK, DOMINO, EAGLE3, PEAGLE, {}, {"speculators_model_type": None}]
)
def test_a_flat_config_is_returned_unchanged(config: Config) -> None:
    layout = native(config)
    assert layout.name == "flat"
    assert layout.config is config
    assert layout.pointer("/dflash_config/target_layer_ids") == "/dflash_config/target_layer_ids"
    assert not layout.notes


@pytest.mark.parametrize("kind", ["dflash", "dflash2", "dspark"])
def test_the_aux_layers_of_a_diffusion_draft_are_one_lower_in_a_flat_config(kind: str) -> None:
    layout = native(NESTED[kind])
    assert layout.name == "speculators"
    assert layout.config["dflash_config"]["target_layer_ids"] == [1, 9, 17, 25, 33]
    assert layout.pointer("/dflash_config/target_layer_ids") == "/aux_hidden_state_layer_ids"
    assert any("one more" in note for note in layout.notes)


@pytest.mark.parametrize("kind", ["eagle3", "peagle"])
def test_the_aux_layers_of_an_eagle_draft_stay(kind: str) -> None:
    layout = native(NESTED[kind])
    assert layout.config["eagle_config"] == {"eagle_aux_hidden_state_layer_ids": [2, 18, 33]}
    at = "/eagle_config/eagle_aux_hidden_state_layer_ids"
    assert layout.pointer(at) == "/eagle_aux_hidden_state_layer_ids"


def test_the_first_and_the_last_hidden_state_are_converted_like_any_other() -> None:
    ids = native({**NESTED["dflash"], "aux_hidden_state_layer_ids": [0, 36]}).config["dflash_config"]
    assert ids["target_layer_ids"] == [-1, 35]
    odd = native({**NESTED["dflash"], "aux_hidden_state_layer_ids": [True, "2"]}).config["dflash_config"]
    assert odd["target_layer_ids"] == [True, "2"]


def test_each_key_leads_back_to_its_place_in_the_file() -> None:
    layout = native(NESTED["dspark"])
    assert layout.config["model_type"] == "qwen3"
    assert layout.config["architectures"] == ["DSparkDraftModel"]
    assert layout.config["dflash_config"]["markov_rank"] == 256
    assert layout.pointer("/hidden_size") == "/transformer_layer_config/hidden_size"
    assert (
        layout.pointer("/rope_parameters/rope_theta")
        == "/transformer_layer_config/rope_parameters/rope_theta"
    )
    assert layout.pointer("/dflash_config/markov_rank") == "/markov_rank"
    assert layout.pointer("/block_size") == "/block_size"
    assert layout.pointer("/nowhere") == "/nowhere"
    assert "target_hidden_size" not in layout.config


def test_every_pointer_leads_to_a_value_of_the_file() -> None:
    for config in NESTED.values():
        layout = native(config)
        for pointer in layout.pointers.values():
            value = config
            for part in pointer.removeprefix("/").split("/"):
                value = value[part]


def test_a_window_that_is_not_causal_is_said_as_a_flat_config_says_it() -> None:
    layout = native({**NESTED["dflash2"], "sliding_window_non_causal": True})
    assert layout.config["dflash_config"]["causal"] is False
    assert layout.pointer("/dflash_config/causal") == "/sliding_window_non_causal"


def test_a_key_that_stands_at_both_levels_counts_outside_and_is_noted() -> None:
    layout = native(
        nested("dflash", {"dtype": "float32", "model_type": "llama"}, model_type="speculator_model")
    )
    assert layout.config["dtype"] == "bfloat16"
    assert layout.config["model_type"] == "llama"
    assert layout.pointer("/dtype") == "/dtype"
    assert layout.pointer("/model_type") == "/transformer_layer_config/model_type"
    assert any(note.startswith("dtype is stated twice") for note in layout.notes)


def test_what_is_flat_already_stays_so() -> None:
    for config in NESTED.values():
        once = native(config).config
        assert native(once).config == once


@pytest.mark.parametrize("value", [None, [], "x", {}])
def test_an_excerpt_is_answered_with_a_sentence(value: object) -> None:
    excerpt = {**NESTED["eagle3"], "transformer_layer_config": value}
    assert any("take the whole file" in note for note in native(excerpt).notes)
    with pytest.raises(NotInventoriedError, match=r"take the whole config\.json"):
        tensors(excerpt)


def test_a_dflash_file_of_speculators_borrows_what_a_flat_one_borrows() -> None:
    must, may = tensors(NESTED["dflash"])
    assert must == dflash.inventory(native(NESTED["dflash"]).config, BF16)
    assert len(must) == 3 + 11 * 2
    assert set(may) == {"embed_tokens.weight", "lm_head.weight"}


def test_a_reduced_vocabulary_brings_head_and_maps() -> None:
    must, may = tensors({**NESTED["dflash"], "draft_vocab_size": REDUCED})
    assert len(must) == 3 + 11 * 2 + 3
    assert must["lm_head.weight"].shape == (REDUCED, 4096)
    assert (must["d2t"].dtype, must["d2t"].shape) == ("I64", (REDUCED,))
    assert (must["t2d"].dtype, must["t2d"].shape) == ("BOOL", (VOCABULARY,))
    assert set(may) == {"embed_tokens.weight"}


def test_a_dflash2_file_has_the_whole_vocabulary_or_is_not_inventoried() -> None:
    must, _ = tensors(NESTED["dflash2"])
    assert must == dflash2.inventory(native(NESTED["dflash2"]).config, BF16)
    with pytest.raises(NotInventoriedError, match="speculators refuses it"):
        tensors({**NESTED["dflash2"], "draft_vocab_size": REDUCED})


def test_the_second_factor_of_a_markov_head_has_the_rows_of_the_draft_vocabulary() -> None:
    whole, _ = tensors(NESTED["dspark"])
    assert len(whole) == 7 + 11 * 2
    assert whole["markov_head.markov_w2.weight"].shape == (VOCABULARY, 256)
    reduced, _ = tensors({**NESTED["dspark"], "draft_vocab_size": REDUCED})
    assert reduced["markov_head.markov_w1.weight"].shape == (VOCABULARY, 256)
    assert reduced["markov_head.markov_w2.weight"].shape == (REDUCED, 256)
    assert len(reduced) == 7 + 11 * 2 + 3


def test_an_eagle3_file_has_its_embedding_and_layers_by_number() -> None:
    must, may = tensors(NESTED["eagle3"])
    assert {"embed_tokens.weight", "lm_head.weight", "layers.0.hidden_norm.weight"} <= must.keys()
    assert set(may) == {"d2t", "t2d"}
    assert len(must) == 4 + 12 + 11
    assert must["layers.0.self_attn.q_norm.weight"].shape == (128,)
    assert must["layers.0.self_attn.k_proj.weight"].shape == (1024, 8192)
    assert must["layers.1.self_attn.k_proj.weight"].shape == (1024, 4096)
    reduced, besides = tensors({**NESTED["eagle3"], "draft_vocab_size": REDUCED})
    assert {"d2t", "t2d"} <= reduced.keys()
    assert not besides


def test_llama_layers_have_no_query_norm_and_the_biases_that_are_switched_on() -> None:
    layer: Config = {"model_type": "llama", "num_hidden_layers": 1}
    plain, _ = tensors(nested("eagle3", layer))
    assert len(plain) == 4 + 10
    biased, _ = tensors(nested("eagle3", {**layer, "attention_bias": True, "mlp_bias": True}))
    assert len(biased) == len(plain) + 4 + 3


def test_norms_before_the_fusion_follow_the_keys_at_the_top() -> None:
    taps: Config = {"eagle_aux_hidden_state_layer_ids": [2, 46, 91, 93]}
    normed, _ = tensors(nested("eagle3", **taps, norm_before_fc=True))
    assert normed["input_norm.weight"].shape == (4 * 4096,)
    each, _ = tensors(nested("eagle3", **taps, fc_norm=True))
    assert each["fc_norm.3.weight"].shape == (4096,)


def test_a_p_eagle_file_is_an_eagle3_file_with_mask_hidden() -> None:
    eagle3, _ = tensors(NESTED["eagle3"])
    peagle, _ = tensors(NESTED["peagle"])
    assert peagle.keys() - eagle3.keys() == {"mask_hidden"}
    assert peagle["mask_hidden"].shape == (1, 1, 3 * 4096)
