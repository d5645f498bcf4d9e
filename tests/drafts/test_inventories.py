"""The inventories have the counts, bytes and shapes of the drafts that were published."""

from __future__ import annotations

from typing import Any

import pytest

from tests.drafts.configs import (
    DFLASH2,
    DOMINO,
    DSPARK,
    EAGLE3,
    KIMI,
    PEAGLE,
    PUBLIC,
    Config,
    nbytes,
    with_head,
)
from zoo.drafts import dflash, dflash2, domino, dspark, eagle, eagle3, peagle
from zoo.drafts.family import FAMILIES, Family, NotInventoriedError

BF16 = "bfloat16"
INVENTORIED = [family for family in FAMILIES if family.name != "plain"]
NO_PAIRS = {"conv_group_size": None, "conv_kernel_size": None, "selector_rank": None, "selector_top_k": None}


def test_the_published_dflash2_draft_is_matched_to_the_byte() -> None:
    inventory = dflash2.inventory(DFLASH2, BF16)
    assert (len(inventory), nbytes(inventory)) == (81, 5_544_319_488)
    assert inventory["layers.4.mlp_conv.base_kernel"].shape == (2, 2, 6656)
    assert inventory["layers.0.attention_conv.kernel_projection.weight"].shape == (1664, 6656)
    assert inventory["candidate_selector.predecessor_codebook"].shape == (202048, 256)
    assert inventory["candidate_selector.hidden_projection.weight"].shape == (256, 6656)


def test_dflash2_without_both_pairs_is_dflash() -> None:
    plain = with_head(DFLASH2, **NO_PAIRS)
    inventory = dflash2.inventory(plain, BF16)
    assert inventory == dflash.inventory(plain, BF16)
    assert (len(inventory), nbytes(inventory)) == (58, 5_111_970_304)


@pytest.mark.parametrize(
    ("gone", "count"),
    [(("conv_kernel_size", "conv_group_size"), 61), (("selector_rank", "selector_top_k"), 78)],
)
def test_each_pair_of_dflash2_may_be_absent_alone(gone: tuple[str, ...], count: int) -> None:
    assert len(dflash2.inventory(with_head(DFLASH2, **dict.fromkeys(gone)), BF16)) == count


@pytest.mark.parametrize("gone", ["conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k"])
def test_half_a_pair_is_a_key_that_is_missing(gone: str) -> None:
    with pytest.raises(KeyError, match=gone):
        dflash2.inventory(with_head(DFLASH2, **{gone: None}), BF16)


def test_a_group_size_must_divide_the_hidden_size() -> None:
    with pytest.raises(TypeError, match="does not divide"):
        dflash2.inventory(with_head(DFLASH2, conv_group_size=15), BF16)


def test_the_kimi_draft_has_its_public_figures() -> None:
    inventory = dflash.inventory(KIMI, BF16)
    assert (len(inventory), nbytes(inventory)) == (69, 6_958_554_112)


def test_a_dspark_draft_has_its_public_figures() -> None:
    inventory = dspark.inventory(DSPARK, BF16)
    assert len(inventory) == 62
    assert inventory["markov_head.markov_w1.weight"].shape == (151936, 256)
    assert inventory["markov_head.markov_w2.weight"].shape == (151936, 256)
    assert inventory["confidence_head.proj.weight"].shape == (1, 4096 + 256)
    assert len(dspark.inventory({**DSPARK, "num_hidden_layers": 6}, BF16)) == 73


@pytest.mark.parametrize(
    ("changes", "count", "name", "shape"),
    [
        ({"markov_head_type": "gated"}, 64, "markov_head.gate_proj.weight", (256, 4352)),
        ({"markov_head_type": "RNN"}, 64, "markov_head.joint_proj.weight", (768, 4608)),
        ({"confidence_head_with_markov": False}, 62, "confidence_head.proj.weight", (1, 4096)),
        ({"enable_confidence_head": False}, 60, "markov_head.markov_w1.weight", (151936, 256)),
        ({"markov_rank": 0, "confidence_head_with_markov": False}, 60, "confidence_head.proj.bias", (1,)),
    ],
)
def test_the_heads_of_dspark_follow_its_switches(
    changes: Config, count: int, name: str, shape: tuple[int, ...]
) -> None:
    inventory = dspark.inventory(with_head(DSPARK, **changes), BF16)
    assert len(inventory) == count
    assert inventory[name].shape == shape


@pytest.mark.parametrize(
    "gone", ["markov_rank", "markov_head_type", "enable_confidence_head", "confidence_head_with_markov"]
)
def test_a_switch_whose_default_depends_on_the_engine_must_be_stated(gone: str) -> None:
    with pytest.raises(KeyError, match=gone):
        dspark.inventory(with_head(DSPARK, **{gone: None}), BF16)


def test_the_keys_of_dspark_may_stand_at_the_top_or_in_their_own_block() -> None:
    keys = {key: value for key, value in DSPARK["dflash_config"].items() if key != "target_layer_ids"}
    ids = {"target_layer_ids": DSPARK["dflash_config"]["target_layer_ids"]}
    expected = dspark.inventory(DSPARK, BF16)
    assert dspark.inventory({**DSPARK, **keys, "dflash_config": ids}, BF16) == expected
    assert dspark.inventory({**DSPARK, "dspark_config": keys, "dflash_config": ids}, BF16) == expected


def test_a_domino_draft_has_as_many_tensors_as_a_dspark_draft_and_other_names() -> None:
    inventory = domino.inventory(DOMINO, BF16)
    assert len(inventory) == len(dspark.inventory(DSPARK, BF16)) == 62
    assert inventory.keys() != dspark.inventory(DSPARK, BF16).keys()
    assert inventory["prefix_gru.weight_ih_l0"].shape == (3072, 4096)
    assert inventory["prefix_gru.weight_hh_l0"].shape == (3072, 1024)
    assert inventory["embed_proj.0.weight"].shape == (256, 5120)
    assert inventory["embed_proj.2.weight"].shape == (151936, 256)


@pytest.mark.parametrize(("changes", "count"), [({}, 15), ({"fc_norm": True, "norm_output": True}, 18)])
def test_an_eagle3_draft_has_its_public_figures_with_and_without_embedding(
    changes: Config, count: int
) -> None:
    config = {**EAGLE3, **changes}
    must, may = eagle3.inventory(config, BF16), eagle3.optional(config, BF16)
    assert (len(must), list(may)) == (count, ["embed_tokens.weight"])
    assert len({**must, **may}) == count + 1


def test_the_vocabulary_maps_of_eagle3_keep_their_own_dtypes() -> None:
    inventory = eagle3.inventory(EAGLE3, BF16)
    assert (inventory["d2t"].dtype, inventory["d2t"].shape) == ("I64", (32000,))
    assert (inventory["t2d"].dtype, inventory["t2d"].shape) == ("BOOL", (151936,))
    floats = 3 * 4096**2 + 5120 * 8192 + 1024 * 8192 + 4096**2 + 3 * 4096 * 12288 + 32000 * 4096 + 4 * 4096
    assert nbytes(inventory) == 2 * floats + 8 * 32000 + 151936


def test_the_vocabulary_maps_are_optional_where_the_draft_has_the_whole_vocabulary() -> None:
    config = {**EAGLE3, "draft_vocab_size": 151936}
    assert len(eagle3.inventory(config, BF16)) == 13
    assert set(eagle3.optional(config, BF16)) == {"d2t", "t2d", "embed_tokens.weight"}


def test_the_head_is_optional_where_no_draft_vocabulary_is_stated() -> None:
    config = {key: value for key, value in EAGLE3.items() if key != "draft_vocab_size"}
    assert len(eagle3.inventory(config, BF16)) == 12
    assert set(eagle3.optional(config, BF16)) == {"d2t", "t2d", "embed_tokens.weight", "lm_head.weight"}


@pytest.mark.parametrize(
    ("changes", "columns"),
    [
        ({}, 3 * 4096),
        ({"target_hidden_size": 5120}, 3 * 5120),
        ({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 9, 17, 25]}}, 4 * 4096),
        ({"num_aux_hidden_states": 2, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1]}}, 2 * 4096),
    ],
)
def test_fc_of_eagle3_is_as_wide_as_the_aux_layers_of_the_target(changes: Config, columns: int) -> None:
    assert eagle3.inventory({**EAGLE3, **changes}, BF16)["fc.weight"].shape == (4096, columns)


def test_norm_before_fc_adds_one_norm_over_all_aux_layers() -> None:
    config = {**EAGLE3, "eagle_config": {"norm_before_fc": True}}
    assert eagle3.inventory(config, BF16)["input_norm.weight"].shape == (3 * 4096,)


def test_a_p_eagle_draft_has_its_public_figures() -> None:
    inventory = peagle.inventory(PEAGLE, BF16)
    assert len(inventory) == 44
    assert {"embed_tokens.weight", "d2t", "t2d"} <= inventory.keys()
    assert inventory["mask_hidden"].shape == (1, 1, 3 * 4096)
    assert inventory["layers.0.self_attn.k_proj.weight"].shape == (1024, 8192)
    assert inventory["layers.3.self_attn.k_proj.weight"].shape == (1024, 4096)


@pytest.mark.parametrize("family", INVENTORIED, ids=lambda family: family.name)
def test_an_inventory_is_sorted_and_apart_from_what_is_optional(family: Family) -> None:
    must, may = (part(PUBLIC[family.name], BF16) for part in (family.inventory, family.optional))
    assert list(must) == sorted(must)
    assert not must.keys() & may.keys()


@pytest.mark.parametrize("family", INVENTORIED, ids=lambda family: family.name)
def test_a_dtype_changes_all_but_the_vocabulary_maps(family: Family) -> None:
    inventory = family.inventory(PUBLIC[family.name], "float32")
    assert {spec.dtype for name, spec in inventory.items() if name not in ("d2t", "t2d")} == {"F32"}


MLA = {"q_lora_rank": 1536, "kv_lora_rank": 512}


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        *((family, MLA) for family in (dflash, dflash2, dspark, domino, eagle3)),
        (dflash2, {"dflash_config": {**DFLASH2["dflash_config"], "attention_mode": "mla"}}),
        (dspark, {"architectures": ["DSparkMiniMaxDraftModel"]}),
        (eagle3, {"architectures": ["Eagle3DeepseekV2ForCausalLM"]}),
        *(
            (family, {"transformer_layer_config": {}})
            for family in (dflash, dflash2, dspark, domino, eagle3, peagle, eagle)
        ),
    ],
)
def test_a_variant_without_a_source_is_refused_by_name(family: Any, changes: Config) -> None:
    config = PUBLIC[family.__name__.rpartition(".")[2]]
    with pytest.raises(NotInventoriedError, match="not inventoried"):
        family.inventory({**config, **changes}, BF16)
