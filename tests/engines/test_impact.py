"""``zoo impact``: what changes between two versions of an engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.corpus.families import dflash2, peagle, recipe, write
from zoo.engines.impact import changes, parse_range
from zoo.errors import UsageError
from zoo.recipe.load import load_recipe
from zoo.recipe.model import Recipe
from zoo.workspace import find_zoo

ROOT = Path(__file__).parents[2]


def recipe_of(root: Path, name: str) -> Recipe:
    found = load_recipe(find_zoo(root), name).recipe
    assert found is not None
    return found


def test_the_amplitude_of_kimi_changes_and_fa4_no_longer_needs_bf16() -> None:
    found = changes(recipe_of(ROOT, "kimi-ft-v3"), "sglang", "0.5.14", "0.5.23")
    amplitude = next(each for each in found if each.what == "amplitude")
    assert (amplitude.before, amplitude.after) == ("1.4159", "1.0000")
    fa4 = next(each for each in found if each.code == "E002")
    assert (fa4.before, fa4.after) == ("applies", "does not apply")
    assert {place.line for place in fa4.places} == {4, 12, 13, 14}
    assert not [each for each in found if each.what == "reading"]


def test_the_way_back_is_the_mirror_image() -> None:
    kimi = recipe_of(ROOT, "kimi-ft-v3")
    there, back = (changes(kimi, "sglang", *span) for span in (("0.5.14", "0.5.23"), ("0.5.23", "0.5.14")))
    assert [(each.before, each.after) for each in there] == [(each.after, each.before) for each in back]


def test_a_draft_that_only_the_new_version_knows(tmp_path: Path) -> None:
    draft = dflash2()
    write(tmp_path / "draft", draft)
    recipe(tmp_path / "draft", draft)
    (found,) = (
        each
        for each in changes(recipe_of(tmp_path, "draft"), "sglang", "0.5.14", "0.5.23")
        if each.what == "reading"
    )
    assert "refuses to start" in found.before
    assert found.after == "SGLang 0.5.23 serves it as DFLASH"
    assert found.places[0].file is not None


def test_versions_that_do_not_start_have_no_hazards_and_no_amplitude(tmp_path: Path) -> None:
    for name, draft in (("both", peagle()), ("old", dflash2())):
        write(tmp_path / name / "draft", draft)
        recipe(tmp_path / name / "draft", draft)
    (only,) = changes(recipe_of(tmp_path / "old", "draft"), "sglang", "0.5.14", "0.5.23")
    assert only.message == "whether it starts"
    assert changes(recipe_of(tmp_path / "both", "draft"), "sglang", "0.5.14", "0.5.23") == ()


def test_a_head_that_only_the_new_version_reads(tmp_path: Path) -> None:
    draft = dflash2()
    draft.config["architectures"] = ["DFlashDraftModel"]
    del draft.config["dflash_config"]["selector_rank"], draft.config["dflash_config"]["selector_top_k"]
    kept = {name: tensor for name, tensor in draft.tensors.items() if "selector" not in name}
    draft = replace(draft, tensors=kept)
    write(tmp_path / "draft", draft)
    recipe(tmp_path / "draft", draft)
    found = changes(recipe_of(tmp_path, "draft"), "sglang", "0.5.14", "0.5.23")
    fates = next(each for each in found if each.message == "what becomes of the convolutions")
    assert (fates.before, fates.after) == ("ignored", "read")


@pytest.mark.parametrize(
    "text",
    ["", "sglang", "sglang==0.5.14", "sglang==0.5.14..", "sglang==0.5.14..0.5.20", "sglang==0.5.14..0.5.14"],
)
def test_a_range_that_cannot_be_compared(text: str) -> None:
    with pytest.raises(UsageError):
        parse_range(text)


def test_the_command_lists_changes_and_exits_0(run_zoo: Callable[..., Ran]) -> None:
    ran = run_zoo("--zoo", ROOT, "impact", "sglang==0.5.14..0.5.23")
    assert ran.status == 0
    assert "1.4159 -> 1.0000" in ran.out
    assert "recipes/profiles/sglang-0.5.14-b200x8.yaml:4" in ran.out
    document = json.loads(run_zoo("--zoo", ROOT, "impact", "sglang==0.5.14..0.5.23", "--format", "json").out)
    assert document["schema"] == "zoo-impact/1"
    assert {each["recipe"] for each in document["drafts"]} == {"kimi-ft-v3", "smollm2-135m-dflash", "tiny-ft"}


def test_a_version_that_nobody_read_is_bad_usage(run_zoo: Callable[..., Ran]) -> None:
    ran = run_zoo("--zoo", ROOT, "impact", "sglang==0.5.14..0.5.20")
    assert ran.status == 2
    assert "known are sglang==0.5.14" in ran.err
