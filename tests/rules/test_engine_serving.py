"""The rules about launch arguments per engine version, on the kimi recipe with a profile of its own."""
# ruff: noqa: F401, F811 - fixtures are imported, and named again as parameters

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from packaging.version import Version

from tests.card.conftest import kimi, kimi_zoo
from zoo.recipe.model import Recipe
from zoo.rules import RULES, Subject
from zoo.rules.serving import mla_backend_with_another_kv_dtype

CODES = [*(f"E{number:03}" for number in (18, *range(30, 36), *range(37, 40)))]


def served(
    recipe: Recipe,
    *args: str,
    algorithm: str = "DFLASH",
    version: str = "0.5.14",
    gpu: str = "B200",
    engine: str = "sglang",
) -> Recipe:
    """The recipe with one profile that has exactly these arguments and an algorithm."""
    lines = ("--model-path {target}", f"--speculative-algorithm {algorithm}", *args)
    profile = replace(recipe.profiles[0], engine=engine, version=Version(version), gpu=gpu, args=lines)
    return replace(recipe, profiles=(profile,))


def codes(recipe: Recipe) -> list[str]:
    subject = Subject(recipe=recipe, checkpoint=None)
    return [code for code in CODES for _ in RULES[code].check(subject)]


@pytest.mark.parametrize(
    ("args", "algorithm", "version", "code"),
    [
        # What ends with a version, on both sides of it
        ("--enable-mixed-chunk", "DFLASH", "0.5.18", "E034"),
        ("--enable-mixed-chunk", "DFLASH", "0.5.19", ""),
        ("--enable-lora", "EAGLE3", "0.5.18", "E033"),
        ("--enable-lora", "EAGLE3", "0.5.19", ""),
        ("--lora-paths a=b", "DFLASH", "0.5.14", "E033"),
        ("--enable-lora", "NGRAM", "0.5.14", ""),
        ("--enable-dp-attention", "DFLASH", "0.5.19", "E033"),
        ("--enable-dp-attention --enable-dp-lm-head", "DFLASH", "0.5.20", ""),
        ("--enable-dp-attention", "DFLASH", "0.5.20", "E033"),
        ("--enable-dp-attention", "EAGLE3", "0.5.14", ""),
        ("--enable-dp-attention", "STANDALONE", "0.5.23", "E033"),
        ("--speculative-draft-window-size 64", "EAGLE", "0.5.20", "E034"),
        ("--speculative-draft-window-size 64", "EAGLE", "0.5.21", ""),
        ("--speculative-draft-window-size 64", "EAGLE3", "0.5.14", ""),
        ("--speculative-draft-window-size 64", "DSPARK", "0.5.23", "E034"),
        # What no version ends
        ("--pp-size 2", "DFLASH", "0.5.23", "E033"),
        ("--pipeline-parallel-size=2", "DFLASH", "0.5.14", "E033"),
        ("--pp-size 1", "DFLASH", "0.5.14", ""),
        ("--pp-size 2", "EAGLE3", "0.5.14", ""),
        ("--disaggregation-decode-enable-radix-cache", "DFLASH", "0.5.23", "E033"),
        ("--speculative-draft-window-size 7 --speculative-num-draft-tokens 8", "DFLASH", "0.5.23", "E033"),
        ("--speculative-draft-window-size 8 --speculative-dflash-block-size 8", "DFLASH", "0.5.14", ""),
        ("--speculative-num-steps 1 --speculative-eagle-topk 1", "DFLASH", "0.5.14", ""),
        ("--speculative-token-map map.pt", "EAGLE3", "0.5.14", "E034"),
        ("--speculative-token-map map.pt", "EAGLE", "0.5.14", ""),
        ("--enable-return-hidden-states", "DFLASH", "0.5.23", "E034"),
        ("--enable-return-hidden-states", "EAGLE3", "0.5.23", ""),
        # Algorithms
        ("", "DSPARK", "0.5.15.post1", "E032"),
        ("", "DSPARK", "0.5.16", ""),
        ("", "UNO", "0.5.19", "E032"),
        ("", "UNO", "0.5.20", ""),
        ("", "eagle3", "0.5.14", ""),
        ("", "MTP", "0.5.23", "E032"),
        ("", "FUTURE", "0.5.24", ""),
        # Draft attention
        ("--speculative-draft-attention-backend trtllm_mha", "DFLASH", "0.5.23", "E031"),
        ("--speculative-draft-attention-backend intel_xpu", "DFLASH", "0.5.19", "E031"),
        ("--speculative-draft-attention-backend intel_xpu", "DFLASH", "0.5.20", ""),
        ("--speculative-draft-attention-backend flash4", "EAGLE3", "0.5.14", ""),
        ("--attention-backend triton", "DFLASH", "0.5.14", ""),
        ("", "DFLASH", "0.5.14", ""),
        # EAGLE's three numbers
        ("--speculative-num-steps 3 --speculative-eagle-topk 1", "EAGLE3", "0.5.14", ""),
        (
            "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
            "EAGLE3",
            "0.5.14",
            "",
        ),
        (
            "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 8",
            "EAGLE3",
            "0.5.14",
            "E034",
        ),
        ("--speculative-num-steps 3", "EAGLE", "0.5.14", "E035"),
        ("--speculative-num-draft-tokens 8", "NEXTN", "0.5.23", "E035"),
        ("--speculative-num-draft-tokens 8 --speculative-adaptive", "EAGLE", "0.5.23", ""),
        (
            "--attention-backend trtllm_mha --speculative-num-steps 3 --speculative-eagle-topk 4",
            "EAGLE3",
            "0.5.14",
            "E035",
        ),
        (
            "--attention-backend flashmla --page-size 2 --speculative-num-steps 2 --speculative-eagle-topk 2",
            "EAGLE3",
            "0.5.14",
            "E035",
        ),
        (
            "--attention-backend fa3 --page-size 64 --speculative-num-steps 3 --speculative-eagle-topk 4",
            "EAGLE3",
            "0.5.14",
            "",
        ),
    ],
)
def test_an_argument_is_judged_by_algorithm_and_version(
    kimi: Recipe, args: str, algorithm: str, version: str, code: str
) -> None:
    lines = ("--" + line.strip() for line in args.split("--") if line.strip())
    assert codes(served(kimi, *lines, algorithm=algorithm, version=version)) == ([code] if code else [])


@pytest.mark.parametrize(("layer_types", "runs"), [("sliding_attention", True), ("full_attention", False)])
def test_trtllm_mha_runs_a_draft_of_sliding_windows(kimi: Recipe, layer_types: str, runs: bool) -> None:
    recipe = served(kimi, "--speculative-draft-attention-backend trtllm_mha", version="0.5.23")
    config = {**recipe.draft.config, "layer_types": [layer_types] * 6}
    assert (codes(replace(recipe, draft=replace(recipe.draft, config=config))) == []) == runs


@pytest.mark.parametrize(
    ("backend", "dtype", "version", "accepted"),
    [
        ("trtllm_mla", "bf16", "0.5.14", True),
        ("trtllm_mla", "", "0.5.14", True),
        ("trtllm_mla", "bfloat16", "0.5.14", False),
        ("trtllm_mla", "bfloat16", "0.5.23", False),
        ("tokenspeed_mla", "fp8_e4m3", "0.5.14", True),
        ("tokenspeed_mla", "bf16", "0.5.22", False),
        ("tokenspeed_mla", "", "0.5.14", False),
        ("tokenspeed_mla", "bf16", "0.5.23", True),  # which sets fp8_e4m3 itself
        ("cutedsl_mla", "bfloat16", "0.5.14", True),
        ("triton", "bfloat16", "0.5.14", True),
    ],
)
def test_mla_backends_take_their_own_cache_dtypes(
    kimi: Recipe, backend: str, dtype: str, version: str, accepted: bool
) -> None:
    dtypes = (f"--kv-cache-dtype {dtype}",) if dtype else ()
    recipe = served(kimi, f"--attention-backend {backend}", *dtypes, version=version)
    found = list(mla_backend_with_another_kv_dtype(Subject(recipe=recipe, checkpoint=None)))
    assert (found == []) == accepted


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"method": "dflash", "num_speculative_tokens": 7}, []),
        ({"method": "dflash", "num_speculative_tokens": 8}, ["E039"]),
        ({"method": "dflash"}, ["E039"]),
        ({"method": "eagle3", "num_speculative_tokens": 7}, ["E038"]),
        ({"num_speculative_tokens": 7}, ["E037"]),
        ([], ["E037", "E039"]),
    ],
)
def test_a_vllm_profile_needs_method_and_proposals(kimi: Recipe, config: object, expected: list[str]) -> None:
    argument = f"--speculative-config '{json.dumps(config)}'"
    assert codes(served(kimi, argument, engine="vllm", version="0.33.0")) == expected


def test_the_short_flags_of_vllm_count_too(kimi: Recipe) -> None:
    flags = ("--spec-method dflash", "--spec-model {draft}", "--spec-tokens 7")
    assert codes(served(kimi, *flags, engine="vllm", version="0.33.0")) == []


def test_a_dspark_draft_of_vllm_may_leave_its_tokens_out_and_does_not_count_an_anchor(kimi: Recipe) -> None:
    recipe = replace(kimi, checkpoint=replace(kimi.checkpoint, family="dspark"))
    for tokens in ({}, {"num_speculative_tokens": 8}):
        argument = f"--speculative-config '{json.dumps({'method': 'dspark', **tokens})}'"
        assert codes(served(recipe, argument, engine="vllm", version="0.33.0")) == []


def test_a_vllm_method_that_is_not_given_is_guessed_from_the_name(kimi: Recipe) -> None:
    recipe = served(kimi, "--speculative-config '{}'", engine="vllm", version="0.33.0")
    (finding,) = RULES["E037"].check(Subject(recipe=recipe, checkpoint=None))
    assert "vLLM guesses dflash" in finding.message
    (other,) = RULES["E037"].check(Subject(recipe=replace(recipe, repo="a/b"), checkpoint=None))
    assert "vLLM guesses draft_model" in other.message


def test_an_eagle3_recipe_has_no_number_of_proposals_to_compare(kimi: Recipe) -> None:
    draft = replace(kimi.draft, block_size=None, mask_token_id=None)
    recipe = replace(kimi, checkpoint=replace(kimi.checkpoint, family="eagle3"), draft=draft)
    argument = '--speculative-config \'{"method": "eagle3", "num_speculative_tokens": 3}\''
    assert codes(served(recipe, argument, engine="vllm", version="0.33.0")) == []
