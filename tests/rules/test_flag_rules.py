"""The command of a recipe's profile against the flags of its engine (``zoo verify``)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.results import CheckResult, Outcome
from zoo.rules import Level, Subject, run
from zoo.workspace import Zoo

FLAGS = ("L006", "L007", "L008", "L009", "L010")


@pytest.fixture
def recipe(here: Zoo) -> Recipe:
    return usable_recipe(here, "tiny-ft")


def results(recipe: Recipe, *more: str, version: str = "0.5.14") -> dict[str, CheckResult]:
    profile = recipe.profiles[0]
    changed = replace(profile, version=Version(version), args=(*profile.args, *more))
    subject = Subject(recipe=replace(recipe, profiles=(changed,)), checkpoint=None)
    return {result.code: result for result in run(subject, Level.HEADER)}


def test_the_command_of_the_tiny_recipe_is_accepted(recipe: Recipe) -> None:
    found = results(recipe)
    assert [found[code].outcome for code in FLAGS] == [Outcome.PASSED] * len(FLAGS)


def test_a_version_whose_flags_are_not_known_is_not_checked_and_changes_no_exit(recipe: Recipe) -> None:
    found = results(recipe, "--no-such-flag", version="0.5.18")
    for code in FLAGS:
        assert found[code].outcome is Outcome.NOT_CHECKED
        assert "no snapshot of the flags of SGLang 0.5.18 ships" in found[code].reason
        assert not found[code].required


def test_the_finding_is_at_the_line_of_the_profile(recipe: Recipe) -> None:
    (finding,) = results(recipe, "--no-such-flag")["L006"].findings
    assert finding.where.file == recipe.profiles[0].file
    assert "profile sglang-0.5.14-h200x1-tiny" in finding.message


def test_hazards_see_through_an_abbreviation(recipe: Recipe) -> None:
    found = results(recipe, "--speculative-draft-attention-b fa4", "--kv-cache=fp8_e4m3")
    assert found["E002"].outcome is Outcome.FAILED
    assert found["L008"].outcome is Outcome.FAILED


def test_a_dollar_in_a_profile_is_no_variable(recipe: Recipe) -> None:
    (finding,) = results(recipe, "--kv-cache-dtype '$KV'")["L007"].findings
    assert '"$KV"' in finding.message


def test_rules_about_commands_need_no_recipe_and_say_so(recipe: Recipe) -> None:
    alone = {each.code: each for each in run(Subject(recipe=None, checkpoint=None), Level.HEADER)}
    for code in (*FLAGS, "L001", "L011", "E018"):
        assert alone[code].outcome is Outcome.NOT_CHECKED
        assert not alone[code].required
