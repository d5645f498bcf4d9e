"""Folders of every family without a recipe: tensors are judged by the family that the config describes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.kit import save
from tests.drafts import configs
from zoo.drafts import Inventory
from zoo.drafts.family import family_of
from zoo.results import Report
from zoo.verify import verify_source

SMALL = {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2}
FAMILIES = {
    "dflash2": configs.DFLASH2,
    "dspark": configs.DSPARK,
    "domino": configs.DOMINO,
    "eagle3": configs.EAGLE3,
    "peagle": configs.PEAGLE,
}


def small(config: dict[str, Any]) -> dict[str, Any]:
    changed = {**config, **SMALL, "head_dim": 16, "vocab_size": 256}
    return changed | ({"draft_vocab_size": 128} if "draft_vocab_size" in config else {})


def tensors_of(config: dict[str, Any]) -> Inventory:
    family = family_of(config)
    assert family is not None
    return family.inventory(config, "bfloat16")


def judge(folder: Path, config: dict[str, Any], tensors: Inventory) -> Report:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save(
        folder / "model.safetensors",
        {name: (spec.dtype, spec.shape, bytes(spec.nbytes)) for name, spec in tensors.items()},
    )
    return verify_source(str(folder)).report


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_whole_file_has_no_finding_and_its_config_is_not_checked(tmp_path: Path, name: str) -> None:
    config = small(FAMILIES[name])
    report = judge(tmp_path / "draft", config, tensors_of(config))
    assert codes(report) == set()
    assert report.exit_status == 2
    assert {"I001", "I002", "I003", "I004", "I008"} <= {
        result.code for result in report.results if result.outcome == "passed"
    }


@pytest.mark.parametrize("name", FAMILIES)
def test_each_missing_tensor_is_found(tmp_path: Path, name: str) -> None:
    config = small(FAMILIES[name])
    whole = tensors_of(config)
    for lost in list(whole)[:: max(1, len(whole) // 8)]:
        report = judge(tmp_path / "draft", config, {key: whole[key] for key in whole if key != lost})
        assert codes(report) == {"I001"}, lost


def test_an_eagle3_file_may_call_its_layer_layers_0(tmp_path: Path) -> None:
    config = small(configs.EAGLE3)
    renamed = {key.replace("midlayer.", "layers.0."): spec for key, spec in tensors_of(config).items()}
    assert codes(judge(tmp_path / "draft", config, renamed)) == set()


def test_an_eagle3_file_may_carry_the_embedding(tmp_path: Path) -> None:
    config = small(configs.EAGLE3)
    family = family_of(config)
    assert family is not None
    both = {**tensors_of(config), **family.optional(config, "bfloat16")}
    assert codes(judge(tmp_path / "draft", config, both)) == set()


def test_a_head_under_the_name_of_plain_dflash_is_another_family(tmp_path: Path) -> None:
    config = small(configs.DSPARK)
    plain = {"architectures": ["DFlashDraftModel"], "dflash_config": {"target_layer_ids": [1, 9, 17, 25, 33]}}
    lost = {key: value for key, value in config.items() if "markov" not in key and "confidence" not in key}
    lost |= plain | {"dtype": "bfloat16", "num_target_layers": 36, "block_size": 7}
    lost["dflash_config"]["mask_token_id"] = 5
    found = codes(judge(tmp_path / "draft", lost, tensors_of(config)))
    assert {"I002", "I008"} <= found


def test_a_variant_that_nobody_inventoried_is_not_checked(tmp_path: Path) -> None:
    config = small(configs.EAGLE3)
    latent = {**config, "architectures": ["Eagle3DeepseekV2ForCausalLM"]}
    report = judge(tmp_path / "draft", latent, tensors_of(config))
    assert codes(report) == set()
    assert report.exit_status == 2
    assert any("not inventoried" in result.reason for result in report.not_checked)
