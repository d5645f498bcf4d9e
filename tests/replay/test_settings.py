"""What a recipe asks of a replay, and what a release and a card make of its gates. No torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zoo.card import standing
from zoo.evidence import Engine, Evidence, Result
from zoo.recipe.load import load_recipe, usable_recipe
from zoo.recipe.model import Recipe
from zoo.release.gates import evaluate
from zoo.replay.settings import CONTROLS, GATES, OPTIMUM, PARITY, ReplaySettings, settings_of
from zoo.results import Outcome, Report
from zoo.workspace import Zoo

PASSED, FAILED, NOT_CHECKED = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_CHECKED


@pytest.fixture
def tiny(here: Zoo) -> Recipe:
    return asking(usable_recipe(here, "tiny-ft"))


def asking(recipe: Recipe, **settings: Any) -> Recipe:
    return replace(recipe, gates={"replay": settings})


def record(recipe: Recipe, outcomes: dict[str, Outcome], **settings: Any) -> Evidence:
    """A record with these gates, made with what the recipe asks for, and a measurement that was not made."""
    results = [Result("engine/x-1", NOT_CHECKED, "nobody has read it", {})]
    results += [
        Result(f"gate/{name}", outcome, "" if outcome is PASSED else f"why of {name}", {})
        for name, outcome in outcomes.items()
    ]
    stated = settings_of(recipe).as_json() | settings
    times = {"started": "2026-11-30T10:00:00Z", "ended": "2026-11-30T10:20:00Z"}
    return Evidence(
        kind="replay",
        subject="held-out",
        checkpoint_digest="a" * 64,
        basis_digest="b" * 64,
        target={"repo": "x/y", "revision": "unknown"},
        inputs={"sha256": "c" * 64},
        settings=stated,
        engine=Engine("reference", "2", ()),
        host={"gpus": []},
        tool="draft-zoo",
        results=tuple(results),
        **times,
    )


def gate(recipe: Recipe, evidence: Evidence) -> tuple[Outcome, str]:
    gates = evaluate(recipe, Report("deep", {}, ()), [evidence])
    return next((each.outcome, each.reason) for each in gates if each.name == "replay")


def test_required_is_all_for_which_there_is_something_to_compare_with(here: Zoo, tiny: Recipe) -> None:
    assert settings_of(tiny).require == GATES
    assert settings_of(replace(tiny, base=None)).require == (PARITY, OPTIMUM, CONTROLS)
    # It names neither a training manifest nor the repository of its base.
    assert settings_of(usable_recipe(here, "kimi-ft-v3")).require == (OPTIMUM, CONTROLS)
    assert settings_of(None) == ReplaySettings()
    assert settings_of(asking(tiny, require=[CONTROLS, PARITY])).require == (PARITY, CONTROLS)
    assert settings_of(asking(tiny, worse_margin=0.02)).worse_margin == 0.02


def test_all_required_gates_passed(tiny: Recipe) -> None:
    assert gate(tiny, record(tiny, dict.fromkeys(GATES, PASSED))) == (PASSED, "")


def test_a_gate_that_is_not_required_may_be_missing_and_is_named(tiny: Recipe) -> None:
    recipe = asking(tiny, require=[OPTIMUM, CONTROLS])
    outcomes = {PARITY: NOT_CHECKED, OPTIMUM: PASSED, CONTROLS: PASSED}
    assert gate(recipe, record(recipe, outcomes)) == (PASSED, "parity not checked (why of parity)")


@pytest.mark.parametrize(
    ("changed", "outcome", "reason"),
    [
        ({PARITY: NOT_CHECKED}, NOT_CHECKED, "replay-held-out: parity not checked (why of parity)"),
        ({OPTIMUM: FAILED}, FAILED, "evidence replay-held-out says so: local-optimum failed"),
        ({OPTIMUM: FAILED, PARITY: NOT_CHECKED}, FAILED, "local-optimum failed (why of local-optimum)"),
    ],
)
def test_a_required_gate_that_did_not_pass(
    tiny: Recipe, changed: dict[str, Outcome], outcome: Outcome, reason: str
) -> None:
    found, said = gate(tiny, record(tiny, dict.fromkeys(GATES, PASSED) | changed))
    assert found is outcome
    assert reason in said


def test_a_record_without_a_required_gate_passes_nothing(tiny: Recipe) -> None:
    assert gate(tiny, record(tiny, {OPTIMUM: PASSED, CONTROLS: PASSED}))[0] is NOT_CHECKED


def test_a_failed_gate_counts_also_where_it_is_not_required(tiny: Recipe) -> None:
    recipe = asking(tiny, require=[CONTROLS])
    assert gate(recipe, record(recipe, {CONTROLS: PASSED, PARITY: FAILED}))[0] is FAILED


def test_a_record_with_wider_margins_does_not_count(tiny: Recipe) -> None:
    recipe = asking(tiny)
    evidence = record(recipe, dict.fromkeys(GATES, PASSED), worse_margin=0.5)
    assert gate(recipe, evidence) == (
        NOT_CHECKED,
        "replay-held-out: the recipe asks for another worse_margin",
    )
    row = next(
        each for each in standing.gates(recipe, (evidence,), standing.Standing()) if each.gate == "replay"
    )
    assert (row.outcome, row.reason) == (NOT_CHECKED, "the recipe asks for another worse_margin")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("{margin: 0.1}", "margin"),
        ("{worse_margin: 1.5}", "1.5"),
        ("{require: [speed]}", "speed"),
        ("{require: []}", "require"),
        ("{conversations: 1}", "conversations"),
    ],
)
def test_settings_that_make_no_sense_are_refused(new_zoo: Zoo, settings: str, said: str) -> None:
    path: Path = new_zoo.recipes / "example-draft.yaml"
    text = path.read_text()
    path.write_text(f"{text}\ngates: {{replay: {settings}}}\n" if "\ngates:" not in text else text)
    found = load_recipe(new_zoo, "example-draft").findings
    assert any(said in f"{each.message} {each.where.pointer}" for each in found), found
