"""The record of a smoke test: what it is bound to, when it is stale, and how it is written."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zoo.digests import sha256_file
from zoo.evidence import Engine, Evidence, Result, evidence_folder, load_evidence, write_evidence
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.results import Outcome
from zoo.smoke.command import public_argv
from zoo.smoke.gpus import Gpu, Gpus
from zoo.smoke.record import excerpt, gates, phases, record
from zoo.smoke.settings import NAMES, settings_of
from zoo.workspace import Zoo, find_zoo

PROMPTS = "prompts/few.jsonl"
DIGEST = "a" * 64
H200 = Gpus("580.1", (Gpu(0, "NVIDIA H200", "GPU-1", 1, 1, ()),))


@pytest.fixture
def tiny_zoo(here: Zoo, tmp_path: Path) -> Zoo:
    """A zoo whose recipe tiny-ft asks for one GPU."""
    shutil.copytree(here.recipes, tmp_path / "recipes", ignore=shutil.ignore_patterns("prompts"))
    (tmp_path / "zoo.toml").write_text("")
    file = tmp_path / "recipes" / "tiny-ft.yaml"
    gate = f"gates:\n  smoke: {{tier: 1gpu, prompts: {PROMPTS}}}\n"
    file.write_text(re.sub(r"gates:\n(  .*\n)+", gate, file.read_text()))
    prompts = tmp_path / "recipes" / PROMPTS
    prompts.parent.mkdir()
    prompts.write_text('{"input_ids": [1, 2, 3]}\n')
    return find_zoo(tmp_path)


def made(zoo: Zoo, recipe: Recipe, tier: str | None = None, **changes: Any) -> Evidence:
    settings = settings_of(recipe, tier)
    ran = ("sglang", "0.5.14") if settings.gpus else ("reference", "0.1.0")
    ready = {"seconds": 3.0, "engine": ran[0], "version": ran[1]}
    asked: dict[str, Any] = {
        "digest": DIGEST,
        "inputs": {"sha256": sha256_file(zoo.recipes / PROMPTS), "about": "prompts", "count": 1},
        "engine": Engine(
            *ran, public_argv(recipe, recipe.profiles[0], settings.tier, extra=changes.get("extra", ()))
        ),
        "gpus": H200 if settings.gpus else None,
        "started": "2026-11-30T18:00:00Z",
        "results": [Result("gate/ready", Outcome.PASSED, "", ready)],
        "extra": (),
        "places": {},
    }
    return record(recipe, recipe.profiles[0], settings, **asked | changes)


def kept(zoo: Zoo, recipe: Recipe, evidence: Evidence) -> Evidence:
    write_evidence(evidence_folder(zoo, recipe) / f"{evidence.name}.json", evidence)
    (found,), problems = load_evidence(zoo, usable_recipe(zoo, recipe.name), DIGEST)
    assert problems == ()
    return found


def test_a_record_of_a_profile_is_bound_to_it_and_to_the_prompts(tiny_zoo: Zoo) -> None:
    recipe = usable_recipe(tiny_zoo, "tiny-ft")
    evidence = made(tiny_zoo, recipe)
    assert evidence.name == "smoke-sglang-0.5.14-h200x1-tiny"
    assert evidence.host["gpus"] == ["NVIDIA H200"]
    assert kept(tiny_zoo, recipe, evidence).stale == ""
    (tiny_zoo.recipes / PROMPTS).write_text('{"input_ids": [1, 2, 4]}\n')
    assert kept(tiny_zoo, recipe, evidence).stale == f"the prompts {PROMPTS} have changed since"
    (tiny_zoo.recipes / PROMPTS).unlink()
    assert kept(tiny_zoo, recipe, evidence).stale == f"the prompts {PROMPTS} are not there"


def test_a_changed_profile_makes_a_record_stale_but_not_one_of_the_reference_engine(tiny_zoo: Zoo) -> None:
    recipe = usable_recipe(tiny_zoo, "tiny-ft")
    served, reference = made(tiny_zoo, recipe), made(tiny_zoo, recipe, "cpu")
    assert reference.name == "smoke-reference"
    assert reference.host["gpus"] == []
    file = tiny_zoo.recipes / "profiles" / "sglang-0.5.14-h200x1-tiny.yaml"
    file.write_text(file.read_text().replace("--dtype bfloat16", "--dtype float16"))
    write_evidence(evidence_folder(tiny_zoo, recipe) / f"{reference.name}.json", reference)
    write_evidence(evidence_folder(tiny_zoo, recipe) / f"{served.name}.json", served)
    found, _ = load_evidence(tiny_zoo, usable_recipe(tiny_zoo, "tiny-ft"), DIGEST)
    assert {each.name: bool(each.stale) for each in found} == {reference.name: False, served.name: True}


def test_no_profile_may_be_called_reference(tiny_zoo: Zoo, run_zoo: Any) -> None:
    profiles = tiny_zoo.recipes / "profiles"
    text = (profiles / "sglang-0.5.14-h200x1-tiny.yaml").read_text()
    (profiles / "reference.yaml").write_text(re.sub(r"name: .*", "name: reference", text, count=1))
    file = tiny_zoo.recipes / "tiny-ft.yaml"
    file.write_text(file.read_text().replace("[sglang-0.5.14-h200x1-tiny]", "[reference]"))
    ran = run_zoo("--zoo", tiny_zoo.root, "verify", "tiny-ft")
    assert ran.status == 1
    assert "a name other than reference" in ran.out


def test_paths_secrets_and_other_arguments_are_recorded_in_words(tiny_zoo: Zoo) -> None:
    recipe = usable_recipe(tiny_zoo, "tiny-ft")
    said = Result("gate/log", Outcome.PASSED, "", {"path": "/tmp/copy/1", "n": 3})
    evidence = made(
        tiny_zoo,
        recipe,
        results=[said],
        extra=("--log-level", "/var/log/x", "--api-key=hf_abcdefghijklmnopqrstuv"),
        places={"/tmp/copy/1": "{draft}"},
    )
    assert evidence.results[0].measured == {"path": "{draft}", "n": 3}
    assert evidence.settings["extra"] == "--log-level [path] --api-key=[secret]"
    assert kept(tiny_zoo, recipe, evidence).stale == ""


def test_probes_come_in_their_order_and_those_of_gpus_only_where_there_are_some() -> None:
    results = [Result(name, Outcome.PASSED, "", {}) for name in reversed(NAMES)]
    assert [each.check for each in gates(results, 1)] == [f"gate/{name}" for name in NAMES]
    on_cpu = {each.check for each in gates(results, 0)}
    assert {f"gate/{name}" for name in NAMES} - on_cpu == {"gate/preflight", "gate/memory"}


def test_the_excerpt_holds_known_messages_and_those_of_the_draft_once() -> None:
    log = "noise\nDFLASH draft runner ready. mask_token_id=4\n" * 3
    (found,) = excerpt(log, "sglang", "0.5.14")
    assert found.measured == {"line-01": "DFLASH draft runner ready. mask_token_id=4"}
    assert list(excerpt("noise\n", "sglang", "0.5.14")) == []


def test_lists_of_numbers_are_written_in_a_line(tiny_zoo: Zoo) -> None:
    recipe = usable_recipe(tiny_zoo, "tiny-ft")
    tokens = Result("gate/log", Outcome.PASSED, "", {"output_ids": [7, -1, 2.5e-7], "text": "[\n 1\n]"})
    evidence = made(tiny_zoo, recipe, results=[tokens, phases({"start": 31.26})])
    path = evidence_folder(tiny_zoo, recipe) / f"{evidence.name}.json"
    write_evidence(path, evidence)
    assert '"output_ids": [ 7, -1, 2.5e-07 ]' in path.read_text()
    assert json.loads(path.read_text()) == json.loads(json.dumps(evidence.as_json()))
    assert replace(kept(tiny_zoo, recipe, evidence), stale="") == evidence
