"""The nested config of speculators is judged by what it means, and findings name the place in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests import tiny_drafts
from zoo.drafts.family import family_of
from zoo.results import Report
from zoo.verify import verify_source

LAYER = {
    **{key: value for key, value in tiny_drafts.CONFIGS["dflash"].items() if key not in ("architectures",)},
    "layer_types": ["full_attention"] * 2,
}
for _key in ("block_size", "dflash_config", "dtype", "num_target_layers"):
    del LAYER[_key]
NESTED: dict[str, Any] = {
    "architectures": ["DFlashDraftModel"],
    "speculators_model_type": "dflash",
    "speculators_version": "0.9.0",
    "dtype": "bfloat16",
    "block_size": 8,
    "aux_hidden_state_layer_ids": [1, 2, 3],
    "mask_token_id": 4,
    "draft_vocab_size": 256,
    "tie_word_embeddings": False,
    "transformer_layer_config": LAYER,
    "speculators_config": {
        "algorithm": "dflash",
        "default_proposal_method": "greedy",
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 7}],
        "verifier": {"name_or_path": "example/target", "architectures": ["Qwen3ForCausalLM"]},
    },
}


def judge(folder: Path, config: dict[str, Any]) -> Report:
    family = family_of(NESTED)
    assert family is not None
    tiny_drafts.write_draft(folder, config, tiny_drafts.tensors(family.inventory(NESTED, "bfloat16")))
    return verify_source(str(folder)).report


def test_a_nested_config_has_no_finding(tmp_path: Path) -> None:
    report = judge(tmp_path / "draft", NESTED)
    assert {found.code for found in report.findings if found.severity == "error"} == set()


def test_a_finding_points_into_the_nested_block(tmp_path: Path) -> None:
    config = json.loads(json.dumps(NESTED))
    config["transformer_layer_config"]["hidden_act"] = "gelu"
    found = next(each for each in judge(tmp_path / "draft", config).findings if each.code == "C073")
    assert found.where.pointer == "/transformer_layer_config/hidden_act"


def test_an_excerpt_is_answered_by_a_sentence(tmp_path: Path) -> None:
    config = {key: value for key, value in NESTED.items() if key != "transformer_layer_config"}
    report = judge(tmp_path / "draft", config)
    assert any("transformer_layer_config" in each.reason for each in report.not_checked)
