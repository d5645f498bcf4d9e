"""Claims against their evidence, in the rules and on the card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.card.conftest import DIGEST, record, save
from zoo.card.claims import claimed, judge, value_text
from zoo.card.metadata import problems
from zoo.card.render import render_card
from zoo.card.standing import Standing
from zoo.evidence import UNSIGNED, load_evidence
from zoo.recipe.model import Claim
from zoo.results import Outcome
from zoo.rules import Level, Subject
from zoo.rules import card as _card_rules  # noqa: F401 - registers the rules
from zoo.rules.registry import RULES, run


def claim(value: Any, metric: str = "accept_length", **at: Any) -> Claim:
    return Claim(metric, value, at, "", "", "measured", "replay-held-out")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *[(3.7, ""), (3.70001, "K002"), (3.74, "K002"), (4, ""), (3, "K002"), (3.65, "K002")],
        *[((3.6, 3.8), ""), ((3.7, 3.8), ""), ((3.71, 3.8), "K002")],
    ],
)
def test_a_claim_holds_within_rounding_of_its_own_digits(kimi: Any, value: Any, code: str) -> None:
    evidence = (record(kimi, accept_length=3.704, correct_drafts=270),)
    assert judge(claim(value), evidence).code == code


def test_only_results_at_the_claimed_setting_are_compared(kimi: Any) -> None:
    one = record(kimi, concurrency=1)
    two = replace(
        one.results[0], measured={**one.results[0].measured, "concurrency": 8, "accept_length": 2.0}
    )
    evidence = (replace(one, results=(*one.results, two)),)
    assert judge(claim(3.7, concurrency=1), evidence).problem == ""
    assert "measured 2" in judge(claim(3.7), evidence).problem
    assert "does not measure" in judge(claim(3.7, concurrency=4), evidence).problem


@pytest.mark.parametrize(
    ("at", "missing"),
    [
        ({}, ""),
        ({"temperature": 0}, ""),
        ({"temperature": 0.7}, "at temperature 0.7; it says temperature 0"),
        ({"concurrency": 64}, "at concurrency 64; it does not say concurrency"),
        ({"hardware": "8 x NVIDIA B200", "gpu": "NVIDIA B200", "gpus": 8}, ""),
        ({"hardware": "8xB200"}, "at hardware 8xB200; it says hardware 8 x NVIDIA B200"),
        ({"gpus": 4}, "gpus 4"),
        ({"engine": "sglang", "engine_version": "0.5.14", "driver": "580.1"}, ""),
        ({"engine": "vllm"}, "engine vllm"),
        ({"lossless": 1}, "lossless 1"),
        (
            {"domain": "agent", "temperature": 0, "concurrency": 64},
            "at domain agent, temperature 0, concurrency 64; it does not say concurrency",
        ),
    ],
)
def test_every_condition_of_a_claim_must_be_stated_by_its_record(
    kimi: Any, at: dict[str, Any], missing: str
) -> None:
    evidence = (record(kimi, domain="agent", lossless=True),)
    verdict = judge(claim(3.7, **at), evidence)
    assert verdict.code == ("K004" if missing else "")
    assert missing in verdict.problem


def test_what_a_measured_claim_compares_with_must_be_stated_too(kimi: Any) -> None:
    against = replace(claim(3.7), against="stock draft")
    assert "does not say against" in judge(against, (record(kimi),)).problem
    assert judge(against, (record(kimi, against="stock draft"),)).code == ""


def test_a_condition_that_a_result_states_differently_than_the_settings_is_that_of_the_result(
    kimi: Any,
) -> None:
    evidence = (record(kimi, temperature=1),)  # the settings say 0
    assert judge(claim(3.7, temperature=1), evidence).code == ""
    assert judge(claim(3.7, temperature=0), evidence).code == "K004"


@pytest.mark.parametrize(
    ("value", "measured", "code"),
    [
        ((1.0, 100.0), [3.7], "K002"),
        ((3.4, 4.1), [3.7], ""),
        ((3.4, 4.3), [3.7], "K002"),
        ((2.5, 3.7), [2.5, 3.7], ""),
        ((2.5, 3.7), [2.5, 3.0, 3.7], ""),
        ((2.5, 3.7), [2.5, 3.9, 3.7], "K002"),
        ((2.4, 3.7), [2.5, 3.7], "K002"),
        ((2.5, 3.8), [2.5, 3.7], "K002"),
    ],
)
def test_a_range_ends_with_measured_values_or_is_narrow(
    kimi: Any, value: tuple[float, float], measured: list[float], code: str
) -> None:
    whole = record(kimi)
    results = tuple(replace(whole.results[0], measured={"accept_length": each}) for each in measured)
    verdict = judge(claim(value), (replace(whole, results=results),))
    assert verdict.code == code


@pytest.mark.parametrize(
    ("value", "code"), [((1.0, 1.2), "K002"), ((1.09, 1.11), ""), ((1.09, 1.12), "K002"), (1.1, "")]
)
def test_the_range_of_a_ratio_is_held_against_the_gain_that_is_printed(
    kimi: Any, value: Any, code: str
) -> None:
    evidence = (record(kimi, accept_length_ratio=1.1),)
    verdict = judge(claim(value, "accept_length_ratio"), evidence)
    assert verdict.code == code
    assert ("20% of that gain" in verdict.problem) == bool(code)


def test_a_claim_without_evidence_that_counts_says_why(kimi: Any) -> None:
    good = record(kimi)
    cases = {
        "there is no evidence replay-held-out": (),
        "is stale: because": (replace(good, stale="because"),),
        "did not pass": (record(kimi, outcome=Outcome.FAILED),),
    }
    for problem, evidence in cases.items():
        verdict = judge(claim(3.7), evidence)
        assert verdict.code == "K004"
        assert problem in verdict.problem


@pytest.mark.parametrize(
    ("metric", "value", "expected"),
    [
        ("accept_length", 2.47, "2.47"),
        ("accept_length", (2.0, 3.5), "2-3.5"),
        ("accept_length_ratio", (1.02, 1.13), "+2-13%"),
        ("decode_tps_ratio", 2.06, "+106%"),
        ("decode_tps_ratio", 0.9, "-10%"),
        ("decode_tps_ratio", 1.015, "+1.5%"),
        ("decode_tps_ratio", (0.9, 1.1), "-10% to +10%"),
    ],
)
def test_a_value_is_printed_as_people_write_it(metric: str, value: Any, expected: str) -> None:
    assert claimed(claim(value, metric)) == expected


def test_small_and_large_numbers_have_no_float_noise() -> None:
    assert [value_text(each) for each in (1e-5, 1e-06, 50000, 0.1 + 0.2)] == ["1e-5", "1e-6", "50000", "0.3"]


def _measured(value: float) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        data["claims"] = [
            {"metric": "accept_length", "value": value, "source": "measured", "evidence": "replay-held-out"}
        ]

    return change


def test_a_measured_claim_is_linked_to_its_record_with_its_counts(kimi_zoo: Any, edited: Any) -> None:
    recipe = edited(_measured(3.7))
    save(kimi_zoo, recipe, record(recipe))
    evidence, _ = load_evidence(kimi_zoo, recipe, DIGEST)
    text = render_card(kimi_zoo, recipe, evidence, Standing(checkpoint_digest=DIGEST))
    assert (
        "| Accept length | **3.7** |  |  | `replay-held-out`: 270 correct "
        "drafts in 100 verify steps, by the author, unsigned |"
    ) in text
    assert "| Replay | trace held-out | passed | `replay-held-out` |" in text
    assert "8 x NVIDIA B200" in text
    assert "Evidence is by the author, unsigned." in text


def test_stale_evidence_is_shown_and_not_counted(kimi_zoo: Any, edited: Any) -> None:
    recipe = edited(_measured(3.7))
    save(kimi_zoo, recipe, record(recipe))
    evidence, _ = load_evidence(kimi_zoo, recipe, "f" * 64)
    text = render_card(kimi_zoo, recipe, evidence, Standing(checkpoint_digest="f" * 64))
    assert "**not counted**: evidence replay-held-out is stale: it was made for another checkpoint" in text
    assert "| not checked | `replay-held-out` stale:" in text
    assert "(stale) |" in text


def test_a_served_profile_is_said_to_be_served_and_a_failed_one_to_have_failed(
    kimi_zoo: Any, kimi: Any
) -> None:
    served = record(kimi, "smoke", "sglang-0.5.14-b200x8")
    text = render_card(kimi_zoo, kimi, (served,))
    assert "Profile `sglang-0.5.14-b200x8` was served: `smoke-sglang-0.5.14-b200x8`" in text
    failed = record(kimi, "smoke", "sglang-0.5.14-b200x8", Outcome.FAILED)
    text = render_card(kimi_zoo, kimi, (failed,))
    assert "**Profile `sglang-0.5.14-b200x8` failed**:" in text
    assert "accept-length: below the floor" in text


@pytest.mark.parametrize(("value", "codes"), [(3.7, []), (3.9, ["K002"])])
def test_the_rules_hold_claims_against_evidence(edited: Any, value: float, codes: list[str]) -> None:
    recipe = edited(_measured(value))
    subject = Subject(recipe=recipe, checkpoint=None, evidence=(record(recipe),))
    found = [(each.code, each.findings) for each in run(subject, Level.HEADER) if each.code.startswith("K")]
    assert [code for code, findings in found if findings] == codes
    assert all(finding.where.pointer == "/claims/0" for _, findings in found for finding in findings)


def test_without_evidence_at_hand_the_claim_rules_are_not_checked(kimi: Any) -> None:
    results = {each.code: each for each in run(Subject(recipe=kimi, checkpoint=None), Level.HEADER)}
    for code in ("K002", "K004", "K005", "K006"):
        assert results[code].outcome is Outcome.NOT_CHECKED
        assert not results[code].required


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda data: data.update(license={"id": "other"}), "'license_link' is a required property"),
        (lambda data: data.update(license={"id": "Apache-2.0"}), "Apache-2.0"),
        (lambda data: data.update(license={"id": "other", "name": "x"}), "license_link"),
    ],
)
def test_metadata_that_the_hub_would_refuse_is_found_offline(edited: Any, change: Any, expected: str) -> None:
    recipe = edited(change)
    findings = list(RULES["K003"].check(Subject(recipe=recipe, checkpoint=None)))
    assert expected in findings[0].message
    assert findings[0].where.pointer == "/license"


def test_a_line_break_at_the_end_of_a_metadata_value_is_a_problem() -> None:
    data = {"license": "apache-2.0", "library_name": "sglang", "tags": ["x"]}
    assert problems(data) == []
    assert problems(data | {"license": "apache-2.0\n"})[0].startswith("license: ")


def test_a_known_base_is_named_as_the_model_that_was_fine_tuned(edited: Any, kimi_zoo: Any) -> None:
    recipe = edited(lambda data: data["base"].update(repo="nvidia/Kimi-DFlash", revision="v1"))
    text = render_card(kimi_zoo, recipe)
    assert "base_model:\n  - nvidia/Kimi-DFlash\nbase_model_relation: finetune\n" in text
    assert "revision `v1` (not pinned)" in text
    folder = edited(lambda data: data["base"].update(repo="./base"))
    assert "base_model" not in render_card(kimi_zoo, folder).split("---")[1]


@pytest.mark.parametrize("code", ["K002", "K003", "K004", "K005", "K006"])
def test_every_rule_is_documented_under_the_fixed_headings(code: str) -> None:
    sections = RULES[code].sections
    assert {"What it does", "Why is this bad", "Example", "Use instead", "Since"} <= set(sections)


def test_a_record_that_is_only_unsigned_is_to_be_signed(edited: Any) -> None:
    recipe = edited(_measured(3.7))
    subject = Subject(recipe=recipe, checkpoint=None, evidence=(replace(record(recipe), stale=UNSIGNED),))
    (finding,) = RULES["K004"].check(subject)
    name = subject.evidence[0].name if subject.evidence else ""
    assert finding.hint == (
        f"sign it: zoo sign release/{recipe.name}/{recipe.version}/evidence/{name}.json --key KEY"
    )
