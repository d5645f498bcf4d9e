"""``zoo adopt``: a recipe from a checkpoint describes it, and leaves to people what is theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_drafts
from tests.conftest import REPOSITORY, Ran
from tests.corpus import families, kit
from zoo.recipe.load import load_recipe
from zoo.results import Severity
from zoo.verify import verify_recipe
from zoo.workspace import Zoo

Run = Callable[..., Ran]
TINY = REPOSITORY / "examples" / "tiny" / "tiny-ft"
ANSWERS = {
    "repo": "me/mine",
    "title": "Mine",
    "summary": "A draft.",
    "run": "mine",
    "checkpoint": "iter_0000001",
    "gpu": "H200",
}


def adopted(run_zoo: Run, zoo: Zoo, folder: Path, name: str = "mine") -> Ran:
    return run_zoo("--zoo", zoo.root, "adopt", folder, "--name", name)


def answer(zoo: Zoo, name: str = "mine") -> None:
    """Write what only a person can say."""
    parts = (f"{name}.yaml", f"targets/{name}-target.yaml", f"profiles/{name}-profile.yaml")
    for path in (zoo.recipes / part for part in parts):
        text = path.read_text()
        for key, value in ANSWERS.items():
            text = re.sub(rf"\b{key}: TODO", f"{key}: {value}", text)
        path.write_text(text)


def test_what_is_still_todo_is_refused_by_name(run_zoo: Run, new_zoo: Zoo) -> None:
    assert adopted(run_zoo, new_zoo, TINY).status == 0
    found = load_recipe(new_zoo, "mine").findings
    messages = " ".join(finding.message for finding in found)
    assert {finding.code for finding in found} == {"R016"}
    known = ("repo", "title", "summary", "training.run", "training.export_of.checkpoint", "hardware.gpu")
    for key in known:
        assert f"{key} is still TODO" in messages
    answer(new_zoo)
    assert load_recipe(new_zoo, "mine").findings == ()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rope_theta": None, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
        {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}},
        {
            "block_size": None,
            "dflash_config": {"target_layer_ids": [0, 1, 2], "mask_token_id": 4, "block_size": 8},
        },
        {"dflash_config": {"target_layer_ids": [0, 1, 2], "mask_token_id": 4, "mask_token": "<m>"}},
        {
            "sliding_window": 64,
            "use_sliding_window": True,
            "layer_types": ["full_attention", "sliding_attention"],
        },
    ],
)
def test_an_adopted_recipe_describes_its_checkpoint(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, changes: dict[str, Any]
) -> None:
    kit.good_draft(tmp_path / "draft", **changes)
    assert adopted(run_zoo, new_zoo, tmp_path / "draft").status == 0
    answer(new_zoo)
    report = verify_recipe(new_zoo, "mine", checkpoint=str(tmp_path / "draft")).report
    errors = [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert errors == []


def test_a_changed_checkpoint_contradicts_the_adopted_recipe(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path
) -> None:
    kit.good_draft(tmp_path / "draft")
    adopted(run_zoo, new_zoo, tmp_path / "draft")
    answer(new_zoo)
    kit.edit_config(tmp_path / "draft", rope_theta=500000.0)
    report = verify_recipe(new_zoo, "mine", checkpoint=str(tmp_path / "draft")).report
    assert {"C050"} == {each.code for each in report.findings if each.severity is Severity.ERROR}


def test_adopt_never_overwrites_and_refuses_what_it_does_not_know(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path
) -> None:
    assert adopted(run_zoo, new_zoo, TINY).status == 0
    again = adopted(run_zoo, new_zoo, TINY)
    assert again.status == 2
    assert "exists already" in again.err
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["SomethingElse"]}))
    other = adopted(run_zoo, new_zoo, tmp_path, "other")
    assert other.status == 2
    assert "is no draft that this version knows" in other.err
    assert not (new_zoo.recipes / "other.yaml").exists()


def test_adopt_says_what_the_config_lacks(run_zoo: Run, new_zoo: Zoo, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft", dflash_config={"mask_token_id": 4})
    ran = adopted(run_zoo, new_zoo, tmp_path / "draft")
    assert ran.status == 2
    assert "does not state target_layer_ids" in ran.err


@pytest.mark.parametrize(
    "changes",
    [
        {"note": ["? a"]},
        {"model_type": "a\u0085b"},
        {"note": "x" * 300_000},
        {"note": [[[]] * 3] * 3, "b": [[[[]]]]},
    ],
)
def test_a_recipe_that_would_not_read_back_is_not_written(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, changes: dict[str, Any]
) -> None:
    kit.good_draft(tmp_path / "draft", **changes)
    ran = adopted(run_zoo, new_zoo, tmp_path / "draft")
    if ran.status == 0:
        answer(new_zoo)
        report = verify_recipe(new_zoo, "mine", checkpoint=str(tmp_path / "draft")).report
        assert report.count(Severity.ERROR) == 0
    else:
        assert "cannot hold" in ran.err
        assert not (new_zoo.recipes / "mine.yaml").exists()


def test_rope_keys_that_a_recipe_cannot_state_are_named(run_zoo: Run, new_zoo: Zoo, tmp_path: Path) -> None:
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 1.0, "factor": 1.0}
    kit.good_draft(tmp_path / "draft", rope_theta=None, rope_parameters=rope)
    ran = adopted(run_zoo, new_zoo, tmp_path / "draft")
    assert ran.status == 0
    assert "left out: rope_parameters.partial_rotary_factor" in ran.err
    assert "left out: rope_parameters.factor" in ran.err


def test_adopt_writes_all_three_files_or_none(run_zoo: Run, new_zoo: Zoo, tmp_path: Path) -> None:
    profiles = new_zoo.recipes / "profiles"
    kept = {path.name: path.read_bytes() for path in profiles.iterdir()}
    for path in profiles.iterdir():
        path.unlink()
    profiles.rmdir()
    profiles.write_text("in the way")
    assert adopted(run_zoo, new_zoo, TINY).status == 2
    assert not (new_zoo.recipes / "mine.yaml").exists()
    assert not (new_zoo.recipes / "targets" / "mine-target.yaml").exists()
    profiles.unlink()
    (tmp_path / "outside").mkdir()
    profiles.symlink_to(tmp_path / "outside")
    ran = adopted(run_zoo, new_zoo, TINY)
    assert ran.status == 2
    assert "is a link" in ran.err
    assert list((tmp_path / "outside").iterdir()) == []
    assert kept


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--target", "nosuch"], "no recipes/targets/nosuch.yaml"),
        (["--profile", ""], "cannot be a name"),
        (["--name", "b" * 76], "cannot be a name"),
    ],
)
def test_adopt_refuses_names_that_lead_nowhere(
    run_zoo: Run, new_zoo: Zoo, args: list[str], says: str
) -> None:
    ran = run_zoo("--zoo", new_zoo.root, "adopt", TINY, "--name", "mine", *args)
    assert ran.status == 2
    assert says in ran.err


def test_adopt_of_a_folder_without_config_or_weights_says_so(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path
) -> None:
    assert "no config.json to read" in adopted(run_zoo, new_zoo, tmp_path).err
    kit.good_draft(tmp_path / "draft")
    (tmp_path / "draft" / kit.WEIGHTS).unlink()
    assert "no weights that can be read" in adopted(run_zoo, new_zoo, tmp_path / "draft").err


@pytest.mark.parametrize("family", ["dflash2", "domino", "dspark", "eagle3"])
def test_adopt_knows_every_family_that_an_engine_serves(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path, family: str
) -> None:
    tiny_drafts.write_tiny(tmp_path / "draft", family)
    assert adopted(run_zoo, new_zoo, tmp_path / "draft", family).status == 0
    recipe = (new_zoo.recipes / f"{family}.yaml").read_text()
    assert f"family: {family}" in recipe
    assert ("block_size" in recipe) == (family != "eagle3")
    profile = (new_zoo.recipes / "profiles" / f"{family}-profile.yaml").read_text()
    algorithm = {"dspark": "DSPARK", "eagle3": "EAGLE3"}.get(family, "DFLASH")
    assert f"--speculative-algorithm {algorithm}\n" in profile
    # SGLang 0.5.14 knows DFlash and EAGLE3 only.
    assert ("sglang==0.5.14" in profile) == (family == "eagle3")


def test_adopt_leaves_a_flat_peagle_draft_to_vllm_and_says_that_nothing_serves_it(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path
) -> None:
    tiny_drafts.write_tiny(tmp_path / "draft", "peagle")
    assert adopted(run_zoo, new_zoo, tmp_path / "draft").status == 0
    profile = (new_zoo.recipes / "profiles" / "mine-profile.yaml").read_text()
    assert "No engine that was read loads a flat P-EAGLE draft" in profile
    answer(new_zoo)
    target = new_zoo.recipes / "targets" / "mine-target.yaml"
    target.write_text(target.read_text().replace("layers: TODO", "layers: 4"))
    report = verify_recipe(new_zoo, "mine", checkpoint=str(tmp_path / "draft")).report
    assert {each.code for each in report.findings if each.severity is Severity.ERROR} == {"E022"}


def test_adopt_says_that_recipes_do_not_cover_the_nested_layout(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path
) -> None:
    families.write(tmp_path / "draft", families.speculators(families.eagle3()))
    ran = adopted(run_zoo, new_zoo, tmp_path / "draft")
    assert ran.status == 2
    assert "nested config of speculators, which recipes do not cover yet" in ran.err
    assert f"zoo verify {tmp_path}/draft" in ran.err


def test_a_folder_of_the_zoo_is_the_source_and_one_elsewhere_is_not(
    run_zoo: Run, new_zoo: Zoo, tmp_path: Path
) -> None:
    kit.good_draft(new_zoo.root / "drafts" / "one")
    ran = adopted(run_zoo, new_zoo, new_zoo.root / "drafts" / "one")
    assert ran.status == 0, ran.err
    assert "source: ./drafts/one\n" in (new_zoo.recipes / "mine.yaml").read_text()
    assert "--checkpoint" not in ran.err
    answer(new_zoo)
    assert verify_recipe(new_zoo, "mine").report.subject["tensors"] == 25
    kit.good_draft(tmp_path / "draft")
    assert "--checkpoint" in adopted(run_zoo, new_zoo, tmp_path / "draft", "other").err
    assert "source: unknown\n" in (new_zoo.recipes / "other.yaml").read_text()


def test_adopt_does_not_make_up_hardware(run_zoo: Run, new_zoo: Zoo) -> None:
    adopted(run_zoo, new_zoo, TINY)
    assert "gpu: TODO" in (new_zoo.recipes / "profiles" / "mine-profile.yaml").read_text()


def test_adopt_keeps_a_null_that_an_engine_reads(run_zoo: Run, new_zoo: Zoo, tmp_path: Path) -> None:
    draft = families.eagle3(families.VOCAB)
    draft.config["draft_vocab_size"] = None
    kept = {
        name: each for name, each in draft.tensors.items() if name not in ("lm_head.weight", "d2t", "t2d")
    }
    families.write(tmp_path / "draft", families.Draft(draft.family, draft.config, kept))
    adopted(run_zoo, new_zoo, tmp_path / "draft")
    assert "draft_vocab_size:\n" in (new_zoo.recipes / "mine.yaml").read_text()


def test_a_section_beside_the_plain_rope_is_stated(run_zoo: Run, new_zoo: Zoo, tmp_path: Path) -> None:
    kit.good_draft(tmp_path / "draft", rope_scaling={"rope_type": "default", "mrope_section": [2, 1, 1]})
    ran = adopted(run_zoo, new_zoo, tmp_path / "draft")
    assert "left out" not in ran.err
    assert "mrope_section: [2, 1, 1]" in (new_zoo.recipes / "mine.yaml").read_text()
