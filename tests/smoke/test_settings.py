"""gates.smoke of a recipe: its defaults, the profile that answers it, and which records do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import pytest

from tests.conftest import Ran
from zoo.errors import UsageError
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.schemas import schema
from zoo.smoke.settings import (
    NAMES,
    OF_GPUS,
    SmokeSettings,
    WaitLimits,
    other_settings,
    profile_of,
    settings_of,
)
from zoo.workspace import Zoo


@pytest.fixture
def kimi(here: Zoo) -> Recipe:
    return usable_recipe(here, "kimi-ft-v3")


def asking(recipe: Recipe, **smoke: Any) -> Recipe:
    return replace(recipe, gates={"smoke": smoke})


def test_the_schema_knows_exactly_the_settings_and_the_probes() -> None:
    stated = schema("recipe-1")["properties"]["gates"]["properties"]["smoke"]["properties"]
    assert set(stated) == {field.name for field in fields(SmokeSettings)}
    assert set(stated["limits"]["properties"]) == {field.name for field in fields(WaitLimits)}
    assert stated["require"]["items"]["enum"] == list(NAMES)


def test_the_defaults_are_those_that_the_schema_and_the_page_state() -> None:
    stated = schema("recipe-1")["properties"]["gates"]["properties"]["smoke"]["properties"]
    defaults = SmokeSettings("1gpu")
    for key in ("max_new_tokens", "floor", "replay_margin", "position_margin", "looping", "head_room"):
        assert stated[key]["description"].endswith(f": {getattr(defaults, key):g}."), key


def test_without_a_gate_the_tier_is_that_of_the_first_profile(kimi: Recipe) -> None:
    assert settings_of(replace(kimi, gates={})).tier == "8gpu"


def test_on_tier_cpu_nothing_about_gpus_is_required(kimi: Recipe) -> None:
    stated = asking(kimi, tier="8gpu", require=["preflight", "memory", "replayed"])
    assert settings_of(stated, "cpu").require == ("replayed",)
    assert set(OF_GPUS) <= set(settings_of(asking(kimi, tier="8gpu")).require)


def test_required_probes_come_in_the_order_of_a_run(kimi: Recipe) -> None:
    stated = asking(kimi, tier="cpu", require=["lossless", "ready"])
    assert settings_of(stated).require == ("ready", "lossless")


@pytest.mark.parametrize("tier", ["gpu", "0gpu", "CPU", "1gpu\n"])
def test_a_tier_is_cpu_or_ngpu(kimi: Recipe, tier: str) -> None:
    with pytest.raises(UsageError, match="a tier is cpu or Ngpu"):
        settings_of(kimi, tier)


def test_a_profile_must_have_as_many_gpus_as_the_tier(kimi: Recipe) -> None:
    settings = settings_of(kimi, "1gpu")
    with pytest.raises(UsageError, match="declares no profile for tier 1gpu"):
        profile_of(kimi, settings)
    with pytest.raises(UsageError, match="is for 8 GPUs, tier 1gpu has 1"):
        profile_of(kimi, settings, "sglang-0.5.14-b200x8")
    with pytest.raises(UsageError, match="declares no profile nobody"):
        profile_of(kimi, settings, "nobody")
    assert profile_of(kimi, settings_of(kimi, "cpu")).name == "sglang-0.5.14-b200x8"


def test_a_record_answers_only_with_the_tier_the_profile_and_the_settings_that_are_asked_for(
    kimi: Recipe,
) -> None:
    recipe = asking(kimi, tier="8gpu", profile="sglang-0.5.14-b200x8", floor=0.5)
    made = settings_of(recipe).as_json()
    subject = "sglang-0.5.14-b200x8"
    assert other_settings(recipe, subject, made) == ""
    assert other_settings(recipe, subject, made | {"tier": "cpu"}) == "it ran on tier cpu, not 8gpu"
    assert "asks for sglang-0.5.14-b200x8" in other_settings(recipe, "another", made)
    assert other_settings(recipe, subject, made | {"floor": 0.1}) == "the recipe asks for another floor"
    assert "other arguments" in other_settings(recipe, subject, made | {"extra": "--tp-size 4"})


def test_how_long_to_wait_is_no_part_of_what_a_record_means(kimi: Recipe) -> None:
    patient = asking(kimi, tier="8gpu", limits={"start": 10})
    assert settings_of(patient).limits == WaitLimits(start=10)
    assert settings_of(patient).as_json() == settings_of(asking(kimi, tier="8gpu")).as_json()


def test_tier_cpu_without_torch_is_refused_before_anything_is_read(
    run_zoo: Callable[..., Ran], here: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as where it is not installed
    ran = run_zoo("--zoo", here.root, "smoke", "tiny-ft", "--tier", "cpu")
    assert ran.status == 2
    assert "--tier cpu needs torch and transformers (torch" in ran.err
    assert "-> pip install 'draft-zoo[torch]'" in ran.err
