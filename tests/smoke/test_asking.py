"""The whole way from requests to results, on the reference engine with the tiny pair: a healthy draft passes,
and each broken one fails the probe that is named for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.replay.reference_kit import TINY, one_thread
from tests.smoke.reference_kit import TARGET, Engine, prompts
from zoo.evidence import Result
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.results import Outcome
from zoo.smoke import asking
from zoo.smoke.attach import ask_running, engine_of
from zoo.smoke.client import Answer, Client, NoAnswerError
from zoo.smoke.controls import broken_copy as control
from zoo.smoke.expectations import expectations
from zoo.smoke.probes import PROBES
from zoo.smoke.replayed import Replayed, ServedTokens, replay_served
from zoo.smoke.served import Absent, Refused, Served
from zoo.smoke.settings import SmokeSettings, settings_of
from zoo.sources import Sources
from zoo.workspace import find_zoo

pytestmark = pytest.mark.torch
Engines = Callable[..., Engine]
PASSED, FAILED, NOT_CHECKED = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_CHECKED
GOOD = TINY / "tiny-ft"
TOKENS = 48


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    one_thread()
    return usable_recipe(find_zoo(REPOSITORY), "tiny-ft")


@pytest.fixture(scope="module")
def settings(recipe: Recipe) -> SmokeSettings:
    """Twelve answers of 48 tokens have some 100 verify steps: enough for a margin of 0.06."""
    return replace(settings_of(recipe, "cpu"), max_new_tokens=TOKENS, position_margin=0.06)


@pytest.fixture(scope="module")
def ask(engine: Engines, recipe: Recipe, settings: SmokeSettings) -> Callable[..., Served]:
    """``ask(draft, *flags)``: the greedy answers of a reference engine, and its log after them."""

    def ask(draft: Path, *flags: str) -> Served:
        running = engine(draft, *flags)
        with Client(running.url) as client:
            info = client.server_info()
            name, version = engine_of(info)
            answers = asking.ask(client, prompts(), max_new_tokens=TOKENS)
        served = Served(recipe, recipe.profiles[0], settings, name, version, str(draft), info)
        return replace(served, log=running.log, greedy=answers, sampled=Absent("not here"))

    return ask


def judged(served: Served) -> dict[str, Result]:
    return {probe.name: probe.judge(served) for probe in PROBES}


def failing(served: Served) -> set[str]:
    return {name for name, result in judged(served).items() if result.outcome is FAILED}


def test_a_healthy_draft_passes_every_probe_that_there_is_material_for(
    engine: Engines, ask: Callable[..., Served]
) -> None:
    served = ask(GOOD)
    heard: list[int] = []
    with Client(engine(GOOD).url) as client:
        wanted = expectations(served.recipe, served.profile, served.settings, served.engine, served.version)
        served = replace(
            served,
            kinds=asking.ask_kinds(client, prompts()[0], wanted),
            waves=asking.ask_waves(client, prompts(), max_new_tokens=24, most=4, told=heard.append),
            long=asking.ask_long(client, prompts(), context=512, max_new_tokens=24, block=8),
        )
        assert client.health_generate()
    assert heard == [1, 2, 3]
    found = judged(served)
    passing = {name for name, result in found.items() if result.outcome is PASSED}
    assert passing == {
        "draft-loaded",
        "block-size",
        "speculating",
        "accept-length",
        "repetition",
        "requests",
        "concurrency",
        "long-context",
        "log",
    }, found
    assert not failing(served)
    assert not isinstance(served.waves, Absent)
    assert [wave.concurrency for wave in served.waves] == [1, 2, 4]
    assert isinstance(served.long, Answer)
    assert len(served.long.input_ids) == 512 - 24 - 8


def test_a_draft_that_lost_its_states_fails_by_its_accept_length_alone(
    ask: Callable[..., Served], dead: Path
) -> None:
    assert failing(ask(dead)) == {"accept-length"}


def test_half_a_block_fails_by_the_server_s_words_its_counts_and_its_log(
    ask: Callable[..., Served],
) -> None:
    served = ask(GOOD, "--speculative-num-draft-tokens", "4")
    assert failing(served) == {"draft-loaded", "block-size", "log"}


def test_a_target_alone_is_not_mistaken_for_a_draft_s_server(engine: Engines, ask: Any) -> None:
    alone = ask(GOOD)
    running = engine(None)
    with Client(running.url) as client:
        answers = asking.ask(client, prompts()[:2], max_new_tokens=TOKENS)
        alone = replace(alone, info=client.server_info(), log=running.log, greedy=answers)
    assert failing(alone) == {"draft-loaded", "speculating"}


@pytest.fixture(scope="module")
def replay(recipe: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Served], Served]:
    """The same with the declared draft replayed over what was served."""

    def replay(served: Served) -> Served:
        assert not isinstance(served.greedy, Absent)
        found = replay_served(
            recipe,
            Sources().open(str(GOOD)),
            TARGET,
            [ServedTokens(each.input_ids, each.output_ids) for each in served.greedy],
            engine=("sglang", "0.5.14"),
            device="cpu",
            dtype="float32",
            work=tmp_path_factory.mktemp("replay"),
        )
        assert isinstance(found, Replayed), found
        return replace(served, replayed=found)

    return replay


def test_served_is_replayed_to_the_last_accepted_token(
    ask: Callable[..., Served], replay: Callable[[Served], Served]
) -> None:
    found = judged(replay(ask(GOOD)))["replayed"]
    assert found.outcome is PASSED, found
    assert (found.measured["change"], found.measured["agreed"]) == (0, 1)
    assert found.measured["verify_steps"] == found.measured["replayed_steps"]
    assert found.measured["correct_drafts"] == found.measured["replayed_correct"]


def test_shifted_layers_pass_the_floor_and_fail_against_the_replay(
    recipe: Recipe, ask: Callable[..., Served], replay: Callable[[Served], Served], tmp_path: Path
) -> None:
    declared = recipe.checkpoint.files
    with control(Sources().open(str(GOOD)), "aux+1", declared=declared, under=tmp_path) as folder:
        served = replay(ask(folder))
    found = judged(served)
    assert found["replayed"].outcome is FAILED, found["replayed"]
    assert "served" in found["replayed"].reason


def test_a_running_server_is_asked_little_and_left_as_it_was(
    engine: Engines, recipe: Recipe, settings: SmokeSettings
) -> None:
    running = engine(GOOD)
    before = running.log
    heard: list[int] = []
    with Client(running.url) as client:
        found = ask_running(client, recipe, recipe.profiles[0], settings, prompts(), heard.append)
    assert [each.check for each in found] == [
        "ready",
        "draft-loaded",
        "block-size",
        "speculating",
        "accept-length",
        "repetition",
    ]
    assert {each.outcome for each in found} == {PASSED}, found
    assert "by server_info alone" in found[1].reason
    assert heard == list(range(1, 9))
    asked = running.log.removeprefix(before)
    assert asked.count("answered") == 8
    assert "refused" not in asked


def test_a_running_server_without_the_draft_is_told(
    engine: Engines, recipe: Recipe, settings: SmokeSettings
) -> None:
    with Client(engine(None).url) as client:
        found = ask_running(client, recipe, recipe.profiles[0], settings, prompts())
    assert {each.check for each in found if each.outcome is FAILED} == {"draft-loaded", "speculating"}


def test_a_server_that_does_not_say_its_version_is_not_guessed() -> None:
    with pytest.raises(NoAnswerError, match="does not say its version"):
        engine_of({"speculative_algorithm": "DFLASH"})


def test_a_prompt_that_is_longer_than_the_context_is_refused_and_not_lost(engine: Engines) -> None:
    with Client(engine(GOOD).url) as client:
        found = asking.ask_long(client, prompts(), context=1_000_000, max_new_tokens=8, block=8)
        together = asking.ask_together(client, [prompts()[0], [1] * 100_000], max_new_tokens=4, concurrency=2)
    assert isinstance(found, Refused)
    assert found.status == 400
    assert isinstance(together[0], Answer)
    assert isinstance(together[1], Refused)
