"""Folders of every family: tensors and config judged by the family, with a recipe and without one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_drafts
from zoo.drafts import Inventory
from zoo.results import Report
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo

# What SpecForge writes for these, no engine starts with: a name, or keys in the block alone.
UNSERVED = {name: {"C102"} for name in ("peagle", "domino", "dspark")}


def judge(folder: Path, config: dict[str, Any], specs: Inventory) -> Report:
    tiny_drafts.write_draft(folder, config, tiny_drafts.tensors(specs))
    return verify_source(str(folder)).report


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}


@pytest.mark.parametrize("name", tiny_drafts.CONFIGS)
def test_a_whole_draft_has_no_finding(tmp_path: Path, name: str) -> None:
    tiny_drafts.write_tiny(tmp_path / "draft", name)
    report = verify_source(str(tmp_path / "draft")).report
    assert codes(report) == UNSERVED.get(name, set())
    assert report.exit_status == 0


@pytest.mark.parametrize("name", tiny_drafts.CONFIGS)
def test_its_adopted_recipe_has_no_error(tmp_path: Path, name: str) -> None:
    draft = tmp_path / "draft"
    tiny_drafts.write_tiny(draft, name)
    tiny_drafts.recipe_of(draft, tmp_path / "zoo", "mine")
    report = verify_recipe(find_zoo(tmp_path / "zoo"), "mine", checkpoint=str(draft)).report
    # No engine starts what SpecForge writes for P-EAGLE, Domino (by name) and DSpark (nested keys).
    refused = {"peagle": {"E022"}, "domino": {"E022"}, "dspark": {"E022"}}
    errors = {finding.code for finding in report.findings if finding.severity == "error"}
    assert errors == refused.get(name, set())


@pytest.mark.parametrize("name", tiny_drafts.CONFIGS)
def test_each_missing_tensor_is_found(tmp_path: Path, name: str) -> None:
    whole = tiny_drafts.inventory(name)
    for lost in list(whole)[:: max(1, len(whole) // 8)]:
        left = {key: whole[key] for key in whole if key != lost}
        expected = {"I001"} | UNSERVED.get(name, set())
        assert codes(judge(tmp_path / "draft", tiny_drafts.CONFIGS[name], left)) == expected, lost


def test_an_eagle3_file_may_call_its_layer_layers_0(tmp_path: Path) -> None:
    whole = tiny_drafts.inventory("eagle3")
    renamed = {key.replace("midlayer.", "layers.0."): spec for key, spec in whole.items()}
    assert codes(judge(tmp_path / "draft", tiny_drafts.CONFIGS["eagle3"], renamed)) == set()


def test_an_eagle3_file_may_carry_the_embedding(tmp_path: Path) -> None:
    config = tiny_drafts.CONFIGS["eagle3"]
    family = tiny_drafts.family_named("eagle3")
    both = {**family.inventory(config, "bfloat16"), **family.optional(config, "bfloat16")}
    assert codes(judge(tmp_path / "draft", config, both)) == set()


def test_a_recipe_says_which_optional_tensors_are_in_the_file(tmp_path: Path) -> None:
    config, family = tiny_drafts.CONFIGS["eagle3"], tiny_drafts.family_named("eagle3")
    both = {**family.inventory(config, "bfloat16"), **family.optional(config, "bfloat16")}
    draft = tmp_path / "draft"
    tiny_drafts.write_draft(draft, config, tiny_drafts.tensors(both))
    tiny_drafts.recipe_of(draft, tmp_path / "zoo", "mine")
    zoo = find_zoo(tmp_path / "zoo")
    assert "optional: [embed_tokens.weight]" in (zoo.recipes / "mine.yaml").read_text()
    assert "I002" not in codes(verify_recipe(zoo, "mine", checkpoint=str(draft)).report)
    tiny_drafts.write_tiny(draft, "eagle3")
    assert {"I001", "I006"} <= codes(verify_recipe(zoo, "mine", checkpoint=str(draft)).report)


def test_a_head_under_the_name_of_plain_dflash_is_another_family(tmp_path: Path) -> None:
    specs = tiny_drafts.inventory("dspark")
    assert {"I002", "I008"} <= codes(judge(tmp_path / "draft", tiny_drafts.CONFIGS["dflash"], specs))


def test_a_head_that_the_config_lacks_is_named(tmp_path: Path) -> None:
    config = json.loads(json.dumps(tiny_drafts.CONFIGS["dspark"]))
    del config["dflash_config"]["markov_rank"]
    report = judge(tmp_path / "draft", config, tiny_drafts.inventory("dspark"))
    assert any(found.code == "C072" and "markov_rank" in found.message for found in report.findings)


def test_an_eagle3_draft_may_be_narrower_than_its_target(tmp_path: Path) -> None:
    config = {**tiny_drafts.CONFIGS["eagle3"], "target_hidden_size": 80}
    draft = tmp_path / "draft"
    tiny_drafts.write_draft(draft, config, tiny_drafts.tensors(tiny_drafts.inventory("eagle3", config)))
    tiny_drafts.recipe_of(draft, tmp_path / "zoo", "mine")
    report = verify_recipe(find_zoo(tmp_path / "zoo"), "mine", checkpoint=str(draft)).report
    assert not {"C024", "C027", "I003"} & codes(report)


def test_a_count_that_only_the_recipe_has_wrong_is_to_be_corrected_there(tmp_path: Path) -> None:
    draft = tmp_path / "draft"
    tiny_drafts.write_tiny(draft, "dflash")
    tiny_drafts.recipe_of(draft, tmp_path / "zoo", "mine")
    zoo = find_zoo(tmp_path / "zoo")
    file = zoo.recipes / "mine.yaml"
    text, changed = re.subn(
        r"tensors: (\d+)", lambda found: f"tensors: {int(found[1]) + 1}", file.read_text()
    )
    assert changed == 1
    count = int(re.findall(r"tensors: (\d+)", text)[0]) - 1
    file.write_text(text)
    report = verify_recipe(zoo, "mine", checkpoint=str(draft)).report
    hints = [each.hint for result in report.results if result.code == "I006" for each in result.findings]
    assert hints[-1] == f"correct checkpoint.tensors to {count}, or export again"
