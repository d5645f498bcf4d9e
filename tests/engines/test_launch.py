"""The argv of a profile: both engines, revisions, and the JSON in which vLLM takes a draft."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from packaging.version import Version

from zoo.engines.judge import judge
from zoo.engines.launch import arguments, launch_argv
from zoo.engines.vllm import speculation, speculative_config
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import ModelRef, Profile, Recipe
from zoo.rules import RULES, Subject
from zoo.workspace import Zoo

TARGET, DRAFT = ModelRef("org/target", "a" * 40), ModelRef("org/draft", "v1.0.0")


@pytest.fixture
def recipe(here: Zoo) -> Recipe:
    return usable_recipe(here, "tiny-ft")


def vllm(recipe: Recipe, *args: str) -> Profile:
    return replace(
        recipe.profiles[0], engine="vllm", version=Version("0.33.0"), command="vllm serve", args=args
    )


def test_sglang_gets_each_revision_after_its_model(recipe: Recipe) -> None:
    argv = launch_argv(recipe.profiles[0], target=TARGET, draft=DRAFT, host="::1", port=1234, extra=["--x"])
    assert argv[:6] == ["python", "-m", "sglang.launch_server", "--model-path", "org/target", "--revision"]
    at = argv.index("--speculative-draft-model-path")
    assert argv[at + 1 : at + 4] == ["org/draft", "--speculative-draft-model-revision", "v1.0.0"]
    assert argv[-5:] == ["--host", "::1", "--port", "1234", "--x"]


def test_vllm_gets_method_tokens_and_revision_in_one_object(recipe: Recipe) -> None:
    profile = vllm(recipe, "{target}", "--speculative-config {speculative_config}")
    argv = launch_argv(profile, target=TARGET, draft=DRAFT, speculation=speculation(recipe))
    assert argv[:5] == ["vllm", "serve", "org/target", "--revision", "a" * 40]
    assert json.loads(argv[6]) == {
        "model": "org/draft",
        "method": "dflash",
        "num_speculative_tokens": 7,  # the recipe's block of 8 counts the anchor
        "revision": "v1.0.0",
    }


def test_the_revision_also_goes_into_an_object_that_the_profile_writes_out(recipe: Recipe) -> None:
    stated = (
        """--speculative-config '{"model": "{draft}", "method": "dflash", "num_speculative_tokens": 7}'"""
    )
    argv = launch_argv(vllm(recipe, "{target}", stated), target=TARGET, draft=DRAFT)
    assert speculative_config(argv)["revision"] == "v1.0.0"
    argv = launch_argv(vllm(recipe, "{target}", stated), target=TARGET, draft=ModelRef("./draft"))
    assert "revision" not in speculative_config(argv)


def test_text_that_is_no_json_is_left_to_the_rules(recipe: Recipe) -> None:
    profile = vllm(recipe, "{target}", "--speculative-config '{model: {draft}'")
    assert launch_argv(profile, target=TARGET, draft=DRAFT)[-1] == "{model: org/draft"


def test_the_built_object_is_what_the_rules_ask_for(recipe: Recipe) -> None:
    built = replace(recipe, profiles=(vllm(recipe, "{target}", "--speculative-config {speculative_config}"),))
    for code in ("E037", "E038", "E039", "L004", "L006", "L007", "L008", "L009"):
        assert list(RULES[code].check(Subject(recipe=built, checkpoint=None))) == []


def test_every_word_knows_the_line_of_the_profile_that_says_it(recipe: Recipe) -> None:
    profile = vllm(recipe, "{target}", "--host ::1 --port 8000", "-tp 2")
    said = list(arguments(profile, target=TARGET, draft=DRAFT))
    assert [each.entry for each in said] == [0, 0, 0, 1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("program", "version", "words", "accepted"),
    [
        (("sglang", "serve"), "0.5.14", ("--model-type", "llm", "--model-path", "x"), True),
        (
            ("python", "-m", "sglang.launch_server"),
            "0.5.14",
            ("--model-type=llm", "--model-path", "x"),
            False,
        ),
        (("sglang", "serve"), "0.5.14", ("x",), False),
        (("sglang", "serve"), "0.5.23", ("x",), True),
        (("python", "-m", "sglang.launch_server"), "0.5.23", ("x",), False),
    ],
)
def test_what_surrounds_argparse_is_judged_as_it_is_there(
    program: tuple[str, ...], version: str, words: tuple[str, ...], accepted: bool
) -> None:
    parsed = judge("sglang", version, program, words)
    assert parsed is not None
    assert parsed.accepted is accepted


def test_a_version_without_a_snapshot_is_not_guessed() -> None:
    assert judge("sglang", "0.5.18", ("sglang", "serve"), ("--model-path", "x")) is None
