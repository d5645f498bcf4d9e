"""What the rules about contradictions inside a config say, and where they must be silent (the corpus has the
cases in which they speak)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.families import VOCAB, Draft, dspark, eagle3, latent, peagle, write
from tests.corpus.kit import WEIGHTS, config, draft_tensors, good_draft, save
from zoo.errors import UnreadableError
from zoo.results import Finding, Outcome
from zoo.verify import verify_source


def findings(folder: Path) -> list[Finding]:
    return list(verify_source(f"{folder}/.").report.findings)


def codes(folder: Path) -> set[str]:
    return {each.code for each in findings(folder)}


@pytest.mark.parametrize(
    "changes",
    [
        {"eagle_aux_hidden_state_layer_ids": [1, 2, 3]},  # both mean the layers 0 to 2
        {"eagle_aux_hidden_state_layer_ids": []},  # vLLM passes over it
        {"num_kv_heads": 2},
        {"n_head_kv": 2},
        {"dspark_target_layer_ids": [5, 6, 7]},  # vLLM and SGLang look elsewhere first for DFlash
        {"draft_vocab_size": 256},
        {"target_hidden_size": 64},
        {"text_config": config()},
        {"thinker_config": {"text_config": config()}},
    ],
)
def test_what_says_the_same_is_no_contradiction(tmp_path: Path, changes: dict[str, Any]) -> None:
    good_draft(tmp_path, **changes)
    assert codes(tmp_path) == set()


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (
            {"eagle_aux_hidden_state_layer_ids": "all"},
            "C034",
            'eagle_aux_hidden_state_layer_ids is "all", and target_layer_ids mean "[1, 2, 3]" there',
        ),
        ({"n_head_kv": 4}, "C012", '"num_key_value_heads" is "2" at "/num_key_value_heads"'),
        ({"draft_vocab_size": 128}, "C036", "but the file has no lm_head.weight and no d2t"),
        ({"llm_config": {"hidden_size": 5}}, "C039", '"llm_config" has no num_attention_heads'),
        ({"language_config": "other"}, "C039", '"language_config" has no num_attention_heads'),
        (
            {"thinker_config": {"text_config": config(vocab_size=9)}},
            "C039",
            '"thinker_config/text_config" says vocab_size is "9", the top level "256"',
        ),
    ],
)
def test_a_contradiction_is_named(tmp_path: Path, changes: dict[str, Any], code: str, message: str) -> None:
    good_draft(tmp_path, **changes)
    assert [message in each.message for each in findings(tmp_path) if each.code == code] == [True]


def test_a_reduced_vocabulary_says_what_is_missing_of_its_two_tensors(tmp_path: Path) -> None:
    good_draft(tmp_path, draft_vocab_size=128)
    save(
        tmp_path / WEIGHTS, draft_tensors() | {"model.lm_head.weight": ("BF16", (128, 64), bytes(128 * 128))}
    )
    (found,) = (each for each in findings(tmp_path) if each.code == "C036")
    assert found.message == "draft_vocab_size is 128 of 256, but the file has no d2t"


def test_the_width_of_the_target_is_a_dimension_of_kimi_k3(tmp_path: Path) -> None:
    draft = dspark(at_the_top=True)
    draft.config.update(architectures=["K3DSparkModel"], target_hidden_size=48)
    write(tmp_path, draft)
    assert "C037" not in codes(tmp_path)


def test_latent_attention_has_names_of_its_own(tmp_path: Path) -> None:
    draft = latent(eagle3())
    write(tmp_path, draft)
    assert codes(tmp_path) == set()
    draft.config["architectures"] = ["Eagle3DeepseekV3ForCausalLM"]
    write(tmp_path, draft)
    assert "C035" not in codes(tmp_path)


@pytest.mark.parametrize(
    "change", [{"draft_vocab_size": None}, {"architectures": ["Eagle3DeepseekV2ForCausalLM"]}]
)
def test_a_draft_vocabulary_may_be_null_or_left_out_by_a_latent_draft(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    draft = eagle3(VOCAB) if "draft_vocab_size" in change else latent(eagle3(VOCAB))
    for name in ("lm_head.weight", "d2t", "t2d"):
        del draft.tensors[name]
    del draft.config["draft_vocab_size"]
    draft.config.update(change)
    write(tmp_path, draft)
    assert codes(tmp_path) == set()


def test_a_file_beside_an_eagle3_draft_is_no_mask_embedding(tmp_path: Path) -> None:
    write(tmp_path, eagle3())
    (tmp_path / "mask_embedding.pt").write_bytes(b"")
    assert "C105" not in codes(tmp_path)


def test_layers_0_under_a_prefix_lose_the_prefix_and_keep_their_name(tmp_path: Path) -> None:
    draft = eagle3(layer="layers.0")
    write(tmp_path, Draft("eagle3", draft.config, {f"model.{n}": each for n, each in draft.tensors.items()}))
    (found,) = findings(tmp_path)
    assert (found.code, found.hint) == ("I005", 'strip the prefix "model."')


def test_a_parallel_draft_with_latent_attention_is_not_inventoried(tmp_path: Path) -> None:
    draft = peagle()
    draft.config["kv_lora_rank"] = 8
    write(tmp_path, draft)
    report = verify_source(f"{tmp_path}/.").report
    (result,) = (each for each in report.results if each.code == "I001")
    assert result.outcome is Outcome.NOT_CHECKED
    assert "P-EAGLE draft with multi-head latent attention (MLA) is not inventoried" in result.reason
    assert report.exit_status != 0


def test_a_remote_target_is_refused_in_words(tmp_path: Path) -> None:
    good_draft(tmp_path)
    with pytest.raises(UnreadableError, match="this command reads local folders only"):
        verify_source(f"{tmp_path}/.", target="hf://owner/name@main")


def test_the_article_fits_the_family(tmp_path: Path) -> None:
    draft = eagle3()
    del draft.config["hidden_size"]
    write(tmp_path, draft)
    report = verify_source(f"{tmp_path}/.").report
    assert any("does not describe an EAGLE3 draft" in each.reason for each in report.results)


def test_the_names_of_the_nested_layout_are_not_offered_to_a_flat_config(tmp_path: Path) -> None:
    good_draft(tmp_path, architectures=["DFlashSpeculator"])
    (found,) = findings(tmp_path)
    assert json.dumps("['DFlashSpeculator']") in found.message
    assert "DFlashSpeculator" not in found.message.partition("known for")[2]
