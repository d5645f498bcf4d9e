"""What a profile really runs and serves (L016, L017, L018): every entry point, and what stands in for one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from packaging.version import Version

from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.rules import Level, Subject, run
from zoo.workspace import Zoo


@pytest.fixture
def recipe(here: Zoo) -> Recipe:
    return usable_recipe(here, "tiny-ft")


def codes(
    recipe: Recipe,
    *more: str,
    command: str = "python -m sglang.launch_server",
    engine: str = "sglang",
    environment: Mapping[str, str] | None = None,
    version: str = "",
) -> list[str]:
    """The codes of L011 and L016 to L018 of the recipe's profile with these changes, one for each finding."""
    profile = recipe.profiles[0]
    changed = replace(
        profile,
        engine=engine,
        version=Version(version or ("0.33.0" if engine == "vllm" else "0.5.14")),
        command=command,
        args=(*profile.args, *more),
        environment=environment or {},
    )
    subject = Subject(recipe=replace(recipe, profiles=(changed,)), checkpoint=None)
    wanted = ("L011", "L016", "L017", "L018")
    return [
        finding.code
        for result in run(subject, Level.HEADER, "profiles")
        for finding in result.findings
        if result.code in wanted
    ]


@pytest.mark.parametrize(
    ("engine", "command"),
    [
        ("sglang", "python -m sglang.launch_server"),
        ("sglang", "/opt/venv/bin/python3.11 -m sglang.launch_server"),
        ("sglang", "sglang serve"),
        ("vllm", "vllm serve"),
        ("vllm", "python3 -m vllm.entrypoints.openai.api_server"),
    ],
)
def test_an_entry_point_of_the_engine_is_accepted(recipe: Recipe, engine: str, command: str) -> None:
    assert codes(recipe, engine=engine, command=command) == []


@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'python -m sglang.launch_server'",
        "env A=1 sglang serve",
        "python -m sglang.launch_server --model-path x",
        "python -c pass -m sglang.launch_server",
        "python -m sglang_launch_server",
        "./serve.sh",
        "vllm serve",
    ],
)
def test_anything_else_is_an_error(recipe: Recipe, command: str) -> None:
    assert codes(recipe, command=command) == ["L016"]


def test_variables_that_change_what_runs_are_errors_and_others_are_not(recipe: Recipe) -> None:
    loaded = dict.fromkeys(("LD_PRELOAD", "LD_AUDIT", "PATH", "PYTHONPATH"), "x")
    assert codes(recipe, environment=loaded) == ["L016"] * 4
    assert codes(recipe, environment={"SGLANG_LOG_LEVEL": "info", "NCCL_DEBUG": "WARN"}) == []


@pytest.mark.parametrize(
    "more",
    [
        "--tokenizer-path {target}",
        "--lora-paths {draft}",
        "--model-path org/other",
        "--model=org/other",
        "--speculative-draft-model-p org/other",
    ],
)
def test_a_model_that_is_named_twice_is_an_error(recipe: Recipe, more: str) -> None:
    assert codes(recipe, more) == ["L017"]


def test_it_is_seen_of_a_version_whose_flags_are_not_known(recipe: Recipe) -> None:
    assert codes(recipe, "--model-path=org/other", version="0.5.18") == ["L017"]
    assert codes(recipe, "--host 0.0.0.0", version="0.5.18") == ["L018"]
    assert codes(recipe, "--admin-api-key secret", version="0.5.18") == ["L011"]
    assert codes(recipe, version="0.5.18") == []


def test_a_credential_before_the_program_is_seen(recipe: Recipe) -> None:
    assert codes(recipe, command="env MY_API_KEY=secret sglang serve") == ["L011", "L016"]


@pytest.mark.parametrize(
    ("more", "found"), [("--host 0.0.0.0", ["L018"]), ("--host=::", ["L018"]), ("--host 127.0.0.1", [])]
)
def test_a_server_open_to_the_network_is_a_warning(recipe: Recipe, more: str, found: list[str]) -> None:
    assert codes(recipe, more) == found
