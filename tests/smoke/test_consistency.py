"""The record of a smoke test is judged again when it is read: the committed one of the tiny pair counts, and
each edit of it is refused, or does not answer for the recipe."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.digests import basis_digest
from zoo.evidence import Evidence, basis_of, evidence_folder, load_evidence
from zoo.recipe.load import usable_recipe
from zoo.results import Finding
from zoo.workspace import Zoo, find_zoo

NAME = "smoke-sglang-0.5.14-h200x1-tiny.json"
Edit = Callable[[dict[str, Any]], object]
Read = Callable[..., tuple[tuple[Evidence, ...], tuple[Finding, ...]]]


@pytest.fixture
def tiny_zoo(here: Zoo, tmp_path: Path) -> Zoo:
    """The tiny pair's recipe, its target, and the committed record of serving it."""
    shutil.copytree(here.recipes, tmp_path / "recipes")
    shutil.copytree(here.root / "examples/tiny/target", tmp_path / "examples/tiny/target")
    (tmp_path / "zoo.toml").write_text("")
    zoo = find_zoo(tmp_path)
    folder = evidence_folder(zoo, usable_recipe(zoo, "tiny-ft"))
    folder.mkdir(parents=True)
    shutil.copy(evidence_folder(here, usable_recipe(here, "tiny-ft")) / NAME, folder / NAME)
    return zoo


@pytest.fixture
def read(tiny_zoo: Zoo) -> Read:
    """Edit the record as somebody would who knows the digests, and read it."""

    def edited(edit: Edit = lambda data: None, *, deep: bool = True) -> Any:
        recipe = usable_recipe(tiny_zoo, "tiny-ft")
        path = evidence_folder(tiny_zoo, recipe) / NAME
        data = json.loads(path.read_text())
        edit(data)
        basis = basis_of(recipe, "smoke", data["subject"], data["inputs"])
        digest = data["checkpoint_digest"]
        data["basis_digest"] = basis_digest(recipe, basis, digest, data["settings"])
        path.write_text(json.dumps(data))
        return load_evidence(tiny_zoo, recipe, digest if deep else None)

    return edited


def of(check: str, **values: Any) -> Edit:
    """Other numbers of one check."""

    def edit(data: dict[str, Any]) -> None:
        next(each for each in data["results"] if each["check"] == check)["measured"].update(values)

    return edit


def without(check: str) -> Edit:
    def edit(data: dict[str, Any]) -> None:
        data["results"] = [each for each in data["results"] if each["check"] != check]

    return edit


def lacking(check: str, key: str) -> Edit:
    def edit(data: dict[str, Any]) -> None:
        del next(each for each in data["results"] if each["check"] == check)["measured"][key]

    return edit


def all_counts(**values: Any) -> Edit:
    """Other numbers wherever the answers at temperature 0 are counted."""

    def edit(data: dict[str, Any]) -> None:
        for check in ("gate/accept-length", "served/t0", "gate/replayed"):
            of(check, **values)(data)

    return edit


def setting(**values: Any) -> Edit:
    return lambda data: data["settings"].update(values)


def test_the_committed_record_counts(read: Read) -> None:
    (record,), problems = read()
    assert (record.stale, str(record.outcome), problems) == ("", "passed", ())


CONTRADICTIONS: dict[str, tuple[Edit, str]] = {
    "a check twice": (lambda d: d["results"].append(d["results"][0]), "is there 2 times"),
    "nothing served": (without("served/t0"), "there is no served/t0"),
    "no target": (without("target"), "there is no target"),
    "target without digests": (lacking("target", "config_sha256"), "passed without config_sha256"),
    "counts of the gate": (
        of("gate/accept-length", verify_steps=295, accept_histogram=[11, 21, 18, 28, 24, 19, 28, 146],
           correct_drafts=1522),
        "correct_drafts is 1522, and served/t0 has 1521",
    ),
    "floor": (setting(floor=5.5), "passed with 5.16 above 1, and the floor is 5.5"),
    "single requests": (of("served/t0", request_steps=[295] + [1] * 23), "do not add up to verify_steps"),
    "tokens": (of("served/t0", output_ids=[1, 2, 3]), "output_ids, and output_lengths of"),
    "served value": (of("gate/replayed", accept_length=6.1562), "and served/t0 has 6.1559"),
    "replayed value": (of("gate/replayed", replayed_accept_length=6.1), "its counts give 6.1939"),
    "change": (of("gate/replayed", change=0.0), "change is +0, but"),
    "replayed more": (
        of("gate/replayed", replayed_correct=1700, replayed_accept_length=6.7823, change=-0.0924),
        "passed with a change of -9.2%",
    ),
    "noise": (of("gate/replayed", noise=0.2), "noise of 20.0%"),
    "margin": (setting(replay_margin=0.001), "the margin is 0.1%"),
    "position": (of("gate/replayed", positions=[0.3] * 7), "a position that differs by 0.3"),
    "few positions": (of("gate/replayed", positions=[0.0]), "1 positions, and 7 were served"),
    "replay without numbers": (lacking("gate/replayed", "replayed_steps"), "without the numbers"),
    "text for a number": (of("gate/replayed", noise="none"), "without the numbers"),
    "block size": (of("gate/block-size", proposed_per_step=3.0), "passed with 3.0 proposals a step"),
    "draft tokens": (of("gate/draft-loaded", speculative_num_draft_tokens=4), "4 draft tokens, not 8"),
    "algorithm": (of("gate/draft-loaded", speculative_algorithm="EAGLE3"), "algorithm EAGLE3, not DFLASH"),
    "gap": (of("gate/lossless", largest_gap=2.5), "largest_gap 2.5, and the tolerance is 0.3"),
    "gap and tolerance": (of("gate/lossless", largest_gap=2.5, tolerance=3.0), "and calibration is 0.3"),
    "a calibration of one's own": (
        lambda d: (of("lossless/calibration", least=3.0, tolerance=3.0)(d),
                   of("gate/lossless", largest_gap=2.5, tolerance=3.0)(d)),
        "tolerance is 3",
    ),
    "another gap of the target": (of("gate/lossless", target_largest_gap=0.2), "and was 0 calibrated"),
    "scored tokens": (of("gate/lossless", tokens=17), "17 tokens were put through the target"),
    "share of loops": (of("gate/repetition", looping=20), "share is 0, but 20 of 24 is 0.8333"),
    "loops": (of("gate/repetition", looping=20, share=0.8333), "passed with 83% looping answers, 50% may"),
    "answers": (of("gate/repetition", answers=200), "requests is 200, and served/t0 has 24"),
    "requests": (of("gate/speculating", requests=480), "480 requests, and 48 were served"),
    "without counts": (of("gate/speculating", with_counts=3), "3 with counts, and 48 of 48"),
    "another engine was ready": (of("gate/ready", version="0.5.23"), "0.5.23 was ready, and the engine is"),
    "not the pin": (
        lambda d: (d["engine"].update(version="0.5.23"), of("gate/ready", version="0.5.23")(d)),
        "passed with sglang 0.5.23, the profile pins sglang 0.5.14",
    ),
    "arguments": (lambda d: d["engine"]["argv"].append("--disable-overlap"), "is not the command of profile"),
    "GPUs of preflight": (of("gate/preflight", gpus=8), "8 GPUs, where the host has 1 and the tier is 1gpu"),
    "killed": (of("gate/shutdown", forced=True), "the server had to be killed"),
}  # fmt: skip


@pytest.mark.parametrize(("edit", "said"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_record_that_contradicts_itself_or_its_recipe_is_refused(read: Read, edit: Edit, said: str) -> None:
    records, problems = read(edit)
    assert records == ()
    assert {each.code for each in problems} == {"K006"}
    assert any(said in each.message for each in problems), [each.message for each in problems]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda d: d["host"].update(gpus=["NVIDIA A100"]), "it ran on NVIDIA A100, profile"),
        (
            lambda d: (d["host"].update(gpus=["NVIDIA H200"] * 8), d["settings"].update(tier="8gpu"),
                       of("gate/preflight", gpus=8)(d)),
            "it names 8 GPUs, profile",
        ),
        (
            lambda d: (d["host"].update(gpus=[]), without("gate/preflight")(d)),
            "it names 0 GPUs, profile",
        ),
        (
            lambda d: (without("gate/preflight")(d), d["settings"].update(tier="cpu")),
            "does not serve on tier cpu",
        ),
        (of("target", config_sha256="0" * 64), "config.json of the target ./examples/tiny/target is another"),
        (of("target", tokenizer_sha256="0" * 64), "tokenizer.json of the target"),
        (of("target", weights_sha256="0" * 64, weights_digest="content"), "the weights of the target"),
        (
            lambda d: d.update(results=[each | {"check": "fine"} for each in d["results"][:1]]),
            "it has no gates",
        ),
    ],
)  # fmt: skip
def test_other_hardware_or_another_target_does_not_answer(read: Read, edit: Edit, said: str) -> None:
    (record,), problems = read(edit)
    assert problems == ()
    assert said in record.stale


def test_weights_of_the_target_are_read_only_where_those_of_the_draft_are(read: Read) -> None:
    (record,), _ = read(of("target", weights_sha256="0" * 64, weights_digest="content"), deep=False)
    assert record.stale == ""


def test_a_target_whose_weights_are_those_that_were_served_answers(read: Read, tiny_zoo: Zoo) -> None:
    from zoo.checkpoint.folder import open_checkpoint
    from zoo.smoke.target_weights import weights_of

    said = weights_of(open_checkpoint(tiny_zoo.root / "examples/tiny/target", "target"))
    assert said["weights_digest"] == "content"
    (record,), _ = read(of("target", **said))
    assert record.stale == ""


def test_a_large_target_is_known_by_its_headers(tiny_zoo: Zoo) -> None:
    from zoo.checkpoint.folder import open_checkpoint
    from zoo.smoke.target_weights import weights_of

    folder = tiny_zoo.root / "examples/tiny/target"
    before = [weights_of(open_checkpoint(folder, "target"), whole) for whole in (2**40, 0)]
    file = next(folder.glob("*.safetensors"))
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1  # a value
    file.write_bytes(raw)
    after = [weights_of(open_checkpoint(folder, "target"), whole) for whole in (2**40, 0)]
    assert [each["weights_digest"] for each in before] == ["content", "headers"]
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, True]
