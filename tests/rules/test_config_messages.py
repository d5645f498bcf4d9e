"""Values that are written alike and differ in type are told apart in the message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.corpus.families import dspark, write
from tests.corpus.kit import edit_config, good_draft, good_recipe
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("vocab_size", "256", 'is "256" (text), the recipe says "256" (an integer)'),
        ("attention_bias", "false", 'is "false" (text), the recipe says "false" (a boolean)'),
        ("vocab_size", 257, 'is "257", the recipe says "256"'),
    ],
)
def test_a_contradiction_says_what_differs(tmp_path: Path, key: str, value: object, message: str) -> None:
    good_draft(tmp_path / "draft")
    good_recipe(tmp_path / "draft")
    edit_config(tmp_path / "draft", **{key: value})
    report = verify_recipe(find_zoo(tmp_path), "draft", checkpoint=str(tmp_path / "draft")).report
    assert any(found.code == "C010" and found.message.endswith(message) for found in report.findings)


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"vocab_size": None}, "C072", "vocab_size is missing"),
        ({"vocab_size": "256"}, "C072", 'vocab_size is "256", not an integer from 1 to 1,000,000,000'),
        ({"architectures": "DFlashDraftModel"}, "C071", '"DFlashDraftModel", a text and no list; known'),
        (
            {"architectures": None, "dflash_config": None},
            "C071",
            "architectures is missing; known for DFlash",
        ),
        ({"vocab_size": "256"}, "C074", '"vocab_size" is "256", text, not an integer'),
        ({"rms_norm_eps": "small"}, "C074", '"rms_norm_eps" is "small", text, not a number'),
        ({"eos_token_id": 4}, "C033", 'mask token "4" is the eos token of this config'),
        ({"bos_token_id": 9, "pad_token_id": [3, 4]}, "C033", 'mask token "4" is the pad token'),
    ],
)
def test_a_finding_names_the_fault(tmp_path: Path, changes: dict[str, Any], code: str, message: str) -> None:
    good_draft(tmp_path, **changes)
    found = [each.message for each in verify_source(str(tmp_path)).report.findings if each.code == code]
    assert any(message in each for each in found), found


@pytest.mark.parametrize("changes", [{"eos_token_id": 5}, {"eos_token_id": True}, {"pad_token_id": [0, 2]}])
def test_other_special_tokens_are_no_mask(tmp_path: Path, changes: dict[str, Any]) -> None:
    good_draft(tmp_path, **changes)
    assert "C033" not in {each.code for each in verify_source(str(tmp_path)).report.findings}


def test_a_block_size_that_dspark_leaves_out_has_the_default_of_dspark(tmp_path: Path) -> None:
    draft = dspark()
    del draft.config["block_size"]
    write(tmp_path / "draft", draft)
    said = [
        each.message for each in verify_source(str(tmp_path / "draft")).report.findings if each.code == "C090"
    ]
    default = "7 proposed tokens (SGLang, DSpark) or what the command says"
    assert said == [f'"block_size" is not stated, so engines take {default}']
