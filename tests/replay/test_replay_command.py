"""``zoo replay`` and ``zoo bisect`` from the command line, and what a release makes of the evidence."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zoo.cli
from tests.conftest import REPOSITORY, Ran
from tests.replay.reference_kit import EAGLE3, TINY, one_thread, weights_of
from zoo.evidence import evidence_folder, load_evidence
from zoo.recipe.load import usable_recipe
from zoo.release.gates import evaluate
from zoo.results import Outcome, Report
from zoo.schemas import validator
from zoo.workspace import find_zoo

Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def replayed(held_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this zoo with the evidence of a replay."""
    root = tmp_path_factory.mktemp("zoo")
    shutil.copytree(REPOSITORY / "recipes", root / "recipes")
    for part in ("base", "target", "tiny-ft"):
        shutil.copytree(TINY / part, root / "examples" / "tiny" / part)
    (root / "zoo.toml").write_text("")
    one_thread()
    words = ["--zoo", root, "replay", "tiny-ft", "--trace", held_out, "--engine", "sglang==0.5.14", "--write"]
    assert zoo.cli.run([str(word) for word in words]) == 0
    return root


def evidence_of(root: Path) -> Any:
    there = find_zoo(root)
    records, findings = load_evidence(there, usable_recipe(there, "tiny-ft"))
    assert findings == ()
    return records[0]


def gate_of(root: Path) -> tuple[Outcome, str]:
    gates = evaluate(usable_recipe(find_zoo(root), "tiny-ft"), Report("deep", {}, ()), [evidence_of(root)])
    return next((gate.outcome, gate.reason) for gate in gates if gate.name == "replay")


@pytest.mark.torch
def test_the_record_answers_the_gate_of_a_release(replayed: Path) -> None:
    record = evidence_of(replayed)
    assert (record.name, record.stale, record.outcome) == ("replay-tiny-held-out", "", Outcome.PASSED)
    assert gate_of(replayed) == (Outcome.PASSED, "")
    measured = {each.check: each.measured for each in record.results}
    assert measured["domain/agent"]["accept_length"] == measured["engine/sglang-0.5.14"]["accept_length"]
    assert measured["gate/parity"] == {"accept_length": 5.9903, "training_accept_length": 5.9903}
    assert measured["variant/lag-1"]["verdict"] == "not better"
    committed = json.loads(
        (REPOSITORY / "release/tiny-ft/1.0.0/evidence/replay-tiny-held-out.json").read_bytes()
    )
    assert committed["checkpoint_digest"] == record.checkpoint_digest
    ours = {each["check"]: each["measured"] for each in committed["results"]}
    for check in ("domain/agent", "domain/story"):
        assert ours[check]["accept_histogram"] == measured[check]["accept_histogram"]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("{trace: another}", "it ran on trace tiny-held-out, and the recipe asks for another"),
        ("{trace: tiny-held-out, worse_margin: 0.01}", "the recipe asks for another worse_margin"),
        ("{require: [parity]}", "the recipe asks for another require"),
    ],
)
def test_a_record_made_with_other_settings_does_not_count(
    replayed: Path, tmp_path: Path, settings: str, reason: str
) -> None:
    root = tmp_path / "zoo"
    shutil.copytree(replayed, root)
    recipe = root / "recipes" / "tiny-ft.yaml"
    text = recipe.read_text()
    assert "replay: {trace: tiny-held-out}" in text
    recipe.write_text(text.replace("replay: {trace: tiny-held-out}", f"replay: {settings}"))
    outcome, said = gate_of(root)
    assert outcome is Outcome.NOT_CHECKED
    assert reason in said
    assert zoo.cli.run(["--zoo", str(root), "card", "tiny-ft"]) == 0
    card = (root / "release" / "tiny-ft" / "1.0.0" / "README.md").read_text()
    assert "| Replay | trace tiny-held-out | not checked |" in card


@pytest.mark.torch
def test_a_gate_that_failed_fails_the_release_and_is_named(replayed: Path, tmp_path: Path) -> None:
    root = tmp_path / "zoo"
    shutil.copytree(replayed, root)
    there = find_zoo(root)
    path = evidence_folder(there, usable_recipe(there, "tiny-ft")) / "replay-tiny-held-out.json"
    data = json.loads(path.read_bytes())
    for each in data["results"]:
        if each["check"] == "gate/local-optimum":
            each |= {"outcome": "failed", "reason": "a neighbour is better: rope theta x 10"}
    path.write_text(json.dumps(data))
    outcome, said = gate_of(root)
    assert outcome is Outcome.FAILED
    assert "local-optimum failed (a neighbour is better: rope theta x 10)" in said


@pytest.mark.torch
def test_a_faulty_draft_fails_with_the_name_of_the_fault(
    replayed: Path, held_out: Path, tmp_path: Path, run_zoo: Run
) -> None:
    """The recipe's own checkpoint is replaced by one whose config has other aux layers."""
    bad = tmp_path / "bad"
    shutil.copytree(TINY / "tiny-ft", bad)
    config = json.loads((bad / "config.json").read_bytes())
    config["dflash_config"]["target_layer_ids"] = [2, 1, 0]
    (bad / "config.json").write_text(json.dumps(config))
    words = ["--zoo", replayed, "replay", "tiny-ft", "--trace", held_out, "--checkpoint", bad]
    ran = run_zoo(*words, "--format", "json")
    assert ran.status == 1
    validator("zoo-replay-1").validate(json.loads(ran.out))
    results = {each["check"]: each for each in json.loads(ran.out)["results"]}
    assert results["variant/fc-reversed"]["measured"]["verdict"] == "better"
    assert results["gate/local-optimum"]["outcome"] == "failed"
    assert "columns of fc in reverse order" in results["gate/local-optimum"]["reason"]
    ran = run_zoo("--zoo", replayed, "bisect", "tiny-ft", bad, "--trace", held_out)
    assert ran.status == 0
    last = ran.out.splitlines()[-1]
    assert last == "  config.json dflash_config.target_layer_ids: [0, 1, 2] in GOOD, [2, 1, 0] in BAD"


@pytest.mark.torch
def test_a_source_needs_no_recipe_and_a_few_conversations_prove_nothing(held_out: Path, run_zoo: Run) -> None:
    ran = run_zoo("replay", TINY / "base", "--trace", held_out, "--top", "2")
    assert ran.status == 2
    assert "local-optimum      not checked  2 conversations, and 8 are needed" in ran.out
    assert "negative-controls  passed" in ran.out


@pytest.mark.torch
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["kimi-ft-v3"], 'a target with repo "./examples/tiny/target"'),
        ([str(TINY / "base"), "--write"], "--checkpoint and --write need a recipe"),
        (["tiny-ft", "--engine", "sglang==9.9"], "sglang"),
        ([str(TINY / "target")], "no reference for this family"),
    ],
)
def test_what_cannot_be_replayed_is_refused(
    held_out: Path, run_zoo: Run, words: list[str], said: str
) -> None:
    ran = run_zoo("--zoo", REPOSITORY, "replay", words[0], "--trace", held_out, *words[1:])
    assert ran.status == 2
    assert said in ran.err


@pytest.mark.torch
def test_a_chain_needs_its_length_and_an_untrained_one_is_dead(
    held_out: Path, tmp_path: Path, run_zoo: Run
) -> None:
    from safetensors.torch import save_file

    config = EAGLE3 | {
        "hidden_size": 128,
        "vocab_size": 512,
        "draft_vocab_size": 200,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    save_file(weights_of(config), tmp_path / "model.safetensors")
    words = ["replay", tmp_path, "--trace", held_out]
    ran = run_zoo(*words)
    assert ran.status == 2
    assert "--steps N" in ran.err
    ran = run_zoo(*words, "--steps", "3", "--format", "json")
    assert ran.status == 1, ran.err
    results = {each["check"]: each for each in json.loads(ran.out)["results"]}
    assert len(results["domain/agent"]["measured"]["by_position"]) == 3
    assert results["gate/negative-controls"]["outcome"] == "failed"


def test_without_torch_the_command_says_what_to_install(
    run_zoo: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.replay.traces import write_trace

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ran = run_zoo("replay", TINY / "base", "--trace", write_trace(tmp_path / "trace"))
    assert ran.status == 2
    assert "this command needs torch and scipy" in ran.err
    assert "pip install 'draft-zoo[replay]'" in ran.err
