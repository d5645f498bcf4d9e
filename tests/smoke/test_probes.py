"""Every probe on made-up material: it passes, it fails for the one fault, and it says why it could not check.

Healthy and broken servers say what real ones said (SGLang 0.5.14 with the tiny pair on an H200).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.smoke.served_kit import (
    BLOCK,
    DEAD,
    DRAFT,
    HEALTHY,
    INFO,
    LOG,
    answer,
    answers,
    counts,
    having,
    healthy,
)
from zoo.evidence import Result
from zoo.replay.acceptance import Counts
from zoo.results import Outcome
from zoo.smoke.client import Answer, Reply
from zoo.smoke.counts import ServedCounts
from zoo.smoke.expectations import Expected, Tried, expectations
from zoo.smoke.lossless import Calibration, Forced, Losslessness
from zoo.smoke.probes import PROBES, preflight, ready, shutdown
from zoo.smoke.probes.repetition import repeated
from zoo.smoke.replayed import NotReplayed, Replayed
from zoo.smoke.served import Absent, Refused, Served, Wave
from zoo.smoke.server import Stopped
from zoo.smoke.settings import NAMES, PREFLIGHT, READY, SHUTDOWN

PASSED, FAILED, NOT_CHECKED = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_CHECKED
GIB = 1024**3
JUDGES = {probe.name: probe.judge for probe in PROBES}


def judged(name: str, served: Served) -> Result:
    found = JUDGES[name](served)
    assert found.check == name
    # A record refuses a result that does not pass and gives no reason.
    assert found.outcome is PASSED or found.reason
    return found


def wave(concurrency: int, histogram: tuple[int, ...] = HEALTHY, **changed: Any) -> Wave:
    return Wave(concurrency, 96, tuple(changed.get("answers", answers(histogram, 8))), 2.0)


def replayed(histogram: tuple[int, ...] = HEALTHY, agreed: int = 995, number: int = 12) -> Replayed:
    return Replayed((Counts(histogram),) * number, agreed, 1000)


def tried(name: str, status: int) -> tuple[Tried, ...]:
    """Every kind as SGLang 0.5.14 answers it, but one."""
    served = healthy()
    wanted = expectations(served.recipe, served.profile, served.settings, "sglang", served.version)
    return tuple(
        Tried(each, status if each.kind.name == name else 400 if each.refused else 200, "words")
        for each in wanted
    )


def chat(**message: Any) -> Reply:
    return Reply(200, {"choices": [{"message": message}]}, 1.0)


def called(arguments: str) -> list[dict[str, Any]]:
    return [{"function": {"name": "get_weather", "arguments": arguments}}]


def lossless(gap: float, own: float = 0.2, differing: int = 0) -> Losslessness:
    forced = tuple(Forced((0.0, gap), 1 if number < differing else None) for number in range(12))
    return Losslessness(Calibration(12, 2304, own, 9, 40.0), forced, alone=True)


def attached(path: str, revision: str | None) -> Served:
    """A server that somebody else started."""
    told = {"speculative_draft_model_path": path, "speculative_draft_model_revision": revision}
    return having(draft="", info=INFO | told, log=Absent("no log here"))


PARSING = ("--tool-call-parser kimi_k2", "--reasoning-parser kimi_k2")
LOOP = tuple(number % 10 for number in range(96))


def looping(number: int) -> tuple[Answer, ...]:
    return tuple(
        replace(each, output_ids=LOOP) if index < number else each for index, each in enumerate(answers())
    )


# What it is, the probe, the material (made when the test runs), the outcome and a part of the reason.
Case = tuple[str, Callable[[], Served], Outcome, str]
CASES: dict[str, Case] = {
    "draft loaded": ("draft-loaded", healthy, PASSED, ""),
    "no draft": (
        "draft-loaded",
        lambda: having(info={"version": "0.5.14"}),
        FAILED,
        "the server runs without a draft",
    ),
    "another draft": (
        "draft-loaded",
        lambda: having(info=INFO | {"speculative_draft_model_path": "/other"}),
        FAILED,
        "says speculative_draft_model_path /other",
    ),
    "another algorithm": (
        "draft-loaded",
        lambda: having(info=INFO | {"speculative_algorithm": "EAGLE3"}),
        FAILED,
        "EAGLE3, not DFLASH",
    ),
    "another mask token": (
        "draft-loaded",
        lambda: having(log=LOG.replace("mask_token_id=4", "mask_token_id=5")),
        FAILED,
        "the log says mask_token_id=5, the recipe 4",
    ),
    "another draft backend": (
        "draft-loaded",
        lambda: having(log=LOG.replace("backend=triton", "backend=flashinfer")),
        FAILED,
        "attention_backend=flashinfer, the recipe triton",
    ),
    "one rank with another block": (
        "draft-loaded",
        lambda: having(log=LOG + LOG.replace("block_size=8", "block_size=16")),
        FAILED,
        "block_size=16, the recipe 8",
    ),
    "the draft worker is silent": (
        "draft-loaded",
        lambda: having(log="ready to roll"),
        FAILED,
        "no line 'Initialized DFLASH draft runner.'",
    ),
    "another release of somebody's server": (
        "draft-loaded",
        lambda: attached("draft-zoo/tiny-ft", "v0.9.0"),
        FAILED,
        "it serves draft-zoo/tiny-ft v0.9.0, not v1.0.0",
    ),
    "the release on somebody's server": (
        "draft-loaded",
        lambda: attached("draft-zoo/tiny-ft", "v1.0.0"),
        PASSED,
        "no log here",
    ),
    "a folder of somebody's server": (
        "draft-loaded",
        lambda: attached("/srv/tiny-ft", None),
        PASSED,
        "whether the folder /srv/tiny-ft holds this draft, only its name says",
    ),
    "a folder of another name on somebody's server": (
        "draft-loaded",
        lambda: attached("/srv/not-tiny-ft", None),
        NOT_CHECKED,
        "the server's draft is /srv/not-tiny-ft, and its name does not tell whether this is tiny-ft",
    ),
    "another repository on somebody's server": (
        "draft-loaded",
        lambda: attached("draft-zoo/tiny-other", "v1.0.0"),
        NOT_CHECKED,
        "its name does not tell",
    ),
    "main of somebody's server": (
        "draft-loaded",
        lambda: attached("draft-zoo/tiny-ft", "main"),
        PASSED,
        "whether revision main is v1.0.0, its name does not tell",
    ),
    "loaded, no log": (
        "draft-loaded",
        lambda: having(log=Absent("no log here")),
        PASSED,
        "by server_info alone: no log here",
    ),
    "nothing known of the server": ("draft-loaded", lambda: having(info={}), NOT_CHECKED, "no server_info"),
    "block size": ("block-size", healthy, PASSED, ""),
    "half a block": (
        "block-size",
        lambda: having(greedy=(replace(answer(), counts=counts((2, 1, 1, 20), 3)),) * 12, sampled=()),
        FAILED,
        "3 tokens are proposed per step (a block of 4), not 7",
    ),
    "a longer block": (
        "block-size",
        lambda: having(greedy=answers((1, *HEALTHY, 3))),
        FAILED,
        "a step accepted 9 tokens",
    ),
    "a block that the config does not have": (
        "block-size",
        lambda: having(log=LOG + "DFLASH block size mismatch: using speculative_num_draft_tokens=8 but ..."),
        FAILED,
        "block size mismatch",
    ),
    "no counts for the block": (
        "block-size",
        lambda: having(greedy=answers(None), sampled=()),
        NOT_CHECKED,
        "no verify step",
    ),
    "speculating": ("speculating", healthy, PASSED, ""),
    "not speculating": ("speculating", lambda: having(greedy=answers(None)), FAILED, "does not speculate"),
    "counts that lie": (
        "speculating",
        lambda: having(greedy=(*answers(), replace(answer(), counts=ServedCounts(HEALTHY, 18, 99, 126)))),
        FAILED,
        "T=0, request 12: 99 correct drafts, but the histogram gives 78",
    ),
    "sampled counts that lie": (
        "speculating",
        lambda: having(sampled=(replace(answer(), counts=ServedCounts((3,), 4, 0, 28)),)),
        FAILED,
        "T=1, request 0",
    ),
    "answers of one token": (
        "speculating",
        lambda: having(greedy=(answer(None, tokens=1),), sampled=()),
        NOT_CHECKED,
        "long enough",
    ),
    "alive": ("accept-length", healthy, PASSED, ""),
    "dead": (
        "accept-length",
        lambda: having(greedy=answers(DEAD)),
        FAILED,
        "accept length 1.04 at temperature 0: 0.04 above 1, and the floor is 0.2",
    ),
    "dead above a floor of its own": (
        "accept-length",
        lambda: having(greedy=answers(DEAD), settings={"floor": 0.03}),
        PASSED,
        "",
    ),
    "hardly asked": (
        "accept-length",
        lambda: having(greedy=answers(number=1)),
        NOT_CHECKED,
        "18 verify steps are too few",
    ),
    "text": ("repetition", healthy, PASSED, ""),
    "one loop of twelve": ("repetition", lambda: having(greedy=looping(1)), PASSED, ""),
    "loops": ("repetition", lambda: having(greedy=looping(7)), FAILED, "7 of 12 answers repeat themselves"),
    "too short to loop": (
        "repetition",
        lambda: having(greedy=(answer(tokens=20),)),
        NOT_CHECKED,
        "no answer has 32 tokens",
    ),
    "requests as declared": ("requests", lambda: having(kinds=tried("", 0)), PASSED, ""),
    "log probabilities served": (
        "requests",
        lambda: having(kinds=tried("return_logprob", 200)),
        FAILED,
        "return_logprob is served, and E009 says that it is refused",
    ),
    "a grammar that kills": (
        "requests",
        lambda: having(kinds=tried("json_schema", 500)),
        FAILED,
        "json_schema: status 500",
    ),
    "a grammar that hangs": ("requests", lambda: having(kinds=tried("regex", 0)), FAILED, "regex: no answer"),
    "refused in another way": (
        "requests",
        lambda: having(kinds=tried("ebnf", 404)),
        FAILED,
        "refused with 404, not 400",
    ),
    "top-k refused": (
        "requests",
        lambda: having(kinds=tried("top_k", 400)),
        FAILED,
        "top_k is refused (400)",
    ),
    "an engine that nobody read": (
        "requests",
        lambda: having(
            kinds=tuple(Tried(replace(each.expected, refused=None), 200, "") for each in tried("", 0))
        ),
        NOT_CHECKED,
        "nobody has read",
    ),
    "a tool call": (
        "parsers",
        lambda: having(
            args=PARSING,
            chat=chat(content="", tool_calls=called('{"city": "Paris"}'), reasoning_content="Let me see."),
        ),
        PASSED,
        "",
    ),
    "a tool call left in the text": (
        "parsers",
        lambda: having(args=PARSING, chat=chat(content="<|tool_call_begin|>f", reasoning_content="x")),
        FAILED,
        "the text still has '<|tool_call'",
    ),
    "reasoning left in the text": (
        "parsers",
        lambda: having(args=PARSING, chat=chat(content="hm</think>", tool_calls=called("{}"))),
        FAILED,
        "</think>",
    ),
    "arguments that do not parse": (
        "parsers",
        lambda: having(args=PARSING, chat=chat(content="", tool_calls=called('{"city": '))),
        FAILED,
        "tool call 0: its arguments are no JSON object",
    ),
    "a chat that fails": (
        "parsers",
        lambda: having(args=PARSING, chat=Reply(400, {"message": "no template"}, 1.0)),
        FAILED,
        "400: no template",
    ),
    "no tool called": (
        "parsers",
        lambda: having(args=PARSING, chat=chat(content="It is warm.", reasoning_content="x")),
        NOT_CHECKED,
        "the model called no tool",
    ),
    "no parser": ("parsers", lambda: having(chat=chat(content="x")), NOT_CHECKED, "names no parser"),
    "together as alone": (
        "concurrency",
        lambda: having(waves=tuple(wave(each) for each in (1, 2, 4, 8))),
        PASSED,
        "",
    ),
    "worse together": (
        "concurrency",
        lambda: having(waves=(wave(1), wave(8, (6, 1, 1, 2, 3, 2, 2, 5)))),
        FAILED,
        "at 8 at once accept length is 14.8% lower than alone",
    ),
    "too noisy to tell": (
        "concurrency",
        lambda: having(
            waves=(
                wave(1),
                wave(8, answers=[answer((9, 9) if seed % 2 else (0,) * 7 + (20,)) for seed in range(8)]),
            )
        ),
        NOT_CHECKED,
        "at 8 at once the noise is",
    ),
    "a request lost": (
        "concurrency",
        lambda: having(waves=(wave(1), wave(2, answers=(*answers(number=7), Refused(503, "full"))))),
        FAILED,
        "at 2 at once: 1 of 8 requests failed: 503 full",
    ),
    "waves without speculation": (
        "concurrency",
        lambda: having(waves=(wave(1, answers=answers(None, 8)), wave(2, answers=answers(None, 8)))),
        NOT_CHECKED,
        "no verify step",
    ),
    "an answer cut short": (
        "concurrency",
        lambda: having(waves=(wave(1), wave(2, answers=(*answers(number=7), answer(tokens=12))))),
        FAILED,
        "1 of 8 answers have 12 tokens, not 96",
    ),
    "a long prompt": ("long-context", lambda: having(long=answer()), PASSED, ""),
    "a long prompt refused": (
        "long-context",
        lambda: having(long=Refused(400, "too long")),
        FAILED,
        "answered with 400: too long",
    ),
    "a long prompt aborted": (
        "long-context",
        lambda: having(long=replace(answer(), finish="abort")),
        FAILED,
        "ended with 'abort'",
    ),
    "head-room": ("memory", lambda: having(gpus_free=(30 * GIB,)), PASSED, ""),
    "no head-room": (
        "memory",
        lambda: having(gpus_free=(30 * GIB, GIB // 2)),
        FAILED,
        "GPU 1 has 0.5 GiB free, 1 are needed",
    ),
    "a cache below the context": (
        "memory",
        lambda: having(gpus_free=(30 * GIB,), settings={"context": 131072}),
        FAILED,
        "holds 65,536 tokens, the context has 131,072",
    ),
    "no GPU": ("memory", lambda: having(gpus_free=()), NOT_CHECKED, "no GPU"),
    "a healthy log": ("log", healthy, PASSED, ""),
    "greedy verification": (
        "log",
        lambda: having(
            log=LOG + "DFLASH non-greedy verification is unavailable on this build/device; falling back to "
            "greedy argmax verification."
        ),
        FAILED,
        "non-greedy verification is unavailable",
    ),
    "an empty log": ("log", lambda: having(log=""), NOT_CHECKED, "the log is empty"),
    "served as replayed": ("replayed", lambda: having(replayed=replayed()), PASSED, ""),
    "layers shifted": (
        "replayed",
        # 4.60 served against 5.33 replayed: above every floor.
        lambda: having(greedy=answers((4, 2, 1, 2, 3, 2, 2, 4)), replayed=replayed()),
        FAILED,
        "accept length 4.60 served, 5.33 replayed over the same tokens: -13.8%",
    ),
    "better than the replay": (
        "replayed",
        lambda: having(replayed=replayed((4, 2, 1, 2, 3, 2, 2, 4))),
        FAILED,
        "5.33 served, 4.60 replayed",
    ),
    "the same length from other positions": (
        "replayed",
        lambda: having(greedy=answers((2, 1, 1, 1, 5, 1, 2, 5)), replayed=replayed()),
        FAILED,
        "P(accept >= 4) differs by +0.056",
    ),
    "another target replayed": (
        "replayed",
        lambda: having(replayed=replayed(agreed=400)),
        NOT_CHECKED,
        "the server runs another target",
    ),
    "too few steps to compare": (
        "replayed",
        lambda: having(greedy=answers(number=4), replayed=replayed(number=4)),
        NOT_CHECKED,
        "72 verify steps are too few to compare, 167 are needed",
    ),
    "no replay": (
        "replayed",
        lambda: having(replayed=NotReplayed("replay needs torch")),
        NOT_CHECKED,
        "replay needs torch",
    ),
    "one request not replayed": (
        "replayed",
        lambda: having(replayed=replayed(number=11)),
        NOT_CHECKED,
        "11 requests were replayed, and 12 were served",
    ),
    "lossless": ("lossless", lambda: having(lossless=lossless(0.16, differing=9)), PASSED, ""),
    "lossy": (
        "lossless",
        lambda: having(lossless=lossless(2.5)),
        FAILED,
        "12 of 24 served tokens are more than 0.30 nat below the target's best (the worst 2.50)",
    ),
    "lossy by the recipe's tolerance": (
        "lossless",
        lambda: having(lossless=lossless(0.28), settings={"tolerance": 0.25}),
        FAILED,
        "more than 0.25 nat",
    ),
    "a tolerance below the target's own": (
        "lossless",
        lambda: having(lossless=lossless(0.1), settings={"tolerance": 0.1}),
        NOT_CHECKED,
        "this server cannot be the judge",
    ),
    "a target that is not its own": (
        "lossless",
        lambda: having(lossless=lossless(0.1, own=3.0)),
        NOT_CHECKED,
        "this server cannot be the judge",
    ),
    "another text in float32": (
        "lossless",
        lambda: having(engine="reference", info=INFO | {"dtype": "float32"}, lossless=lossless(0.0, 0.0, 1)),
        FAILED,
        "1 of 12 texts differ from the target's own",
    ),
    "no token scored": (
        "lossless",
        lambda: having(lossless=replace(lossless(0.1), forced=())),
        NOT_CHECKED,
        "no served token",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_a_probe_judges(what: str) -> None:
    name, made, outcome, reason = CASES[what]
    found = judged(name, made())
    assert found.outcome is outcome, found
    assert reason in found.reason, found


def test_every_probe_has_cases_that_pass_that_fail_and_that_are_not_checked() -> None:
    seen = {(name, outcome) for name, _, outcome, _ in CASES.values()}
    nothing = having(greedy=Absent("never"), sampled=Absent("never"), log=Absent("never"))
    for name in JUDGES:
        assert {(name, PASSED), (name, FAILED)} <= seen
        if name != "draft-loaded":
            assert judged(name, nothing).outcome is NOT_CHECKED


def test_the_probes_are_those_of_the_settings_in_their_order() -> None:
    around = (PREFLIGHT, READY, SHUTDOWN)
    assert tuple(JUDGES) == tuple(name for name in NAMES if name not in around)


def test_an_exact_answer_is_demanded_of_the_reference_engine_in_float32_only() -> None:
    differing = lossless(0.0, 0.0, 1)
    assert judged("lossless", having(info=INFO | {"dtype": "float32"}, lossless=differing)).outcome is PASSED
    bf16 = having(engine="reference", info=INFO | {"dtype": "bfloat16"}, lossless=differing)
    assert judged("lossless", bf16).outcome is PASSED


def test_a_record_accepts_what_every_probe_measured(tmp_path: Any) -> None:
    """Names and values of measurements as the schema of evidence wants them, and no path of this machine."""
    from zoo.schemas import validator

    results = [judged(name, made()) for name, made, _, _ in CASES.values()]
    schema = validator("evidence-1")
    items = schema.schema["properties"]["results"]["items"]
    part = schema.evolve(schema={**items, "$defs": schema.schema["$defs"]})
    for each in results:
        data = {"check": each.check, "outcome": str(each.outcome), "reason": each.reason}
        problems = list(part.iter_errors(data | {"measured": dict(each.measured)}))
        assert not problems, (each, problems[0].message)
    assert DRAFT not in str([dict(each.measured) for each in results])


def test_accept_lengths_are_pooled_with_the_median_and_both_temperatures() -> None:
    said = judged("accept-length", healthy()).measured
    assert said["accept_histogram"] == [12 * steps for steps in HEALTHY]
    assert said["verify_steps"] == 12 * sum(HEALTHY)
    assert said["accept_length"] == said["median_accept_length"] == 5.3333
    assert len(said["by_position"]) == BLOCK - 1
    assert said["t1_accept_length"] < said["accept_length"]


def test_a_histogram_that_contradicts_the_recipe_is_not_called_one() -> None:
    said = judged("accept-length", having(greedy=answers((1, *HEALTHY, 3)))).measured
    assert "accept_histogram" not in said
    assert len(said["longer_histogram"]) == len(HEALTHY) + 2


def test_the_accept_length_without_loops_is_said_beside_the_pooled_one() -> None:
    lifted = tuple(
        replace(each, counts=counts((0, 0, 0, 0, 0, 0, 0, 12))) if each.output_ids == LOOP else each
        for each in looping(2)
    )
    said = judged("repetition", having(greedy=lifted)).measured
    assert said["looping"] == 2
    assert said["without_them"] < said["with_them"]


@pytest.mark.parametrize(
    ("tokens", "least", "most"),
    [
        (tuple(range(200)), 0.0, 0.0),
        (LOOP, 1.0, 1.0),
        # A loop that counts: "step 1 ...", "step 2 ...".
        (tuple(token for number in range(12) for token in (1000 + number, *range(20))), 0.5, 0.8),
        # A loop at the end of a text.
        ((*range(100), *(number % 7 for number in range(120))), 0.8, 1.0),
        # A template that comes twice.
        ((*range(40), *range(100, 180), *range(40)), 0.0, 0.45),
        ((), 0.0, 0.0),
    ],
)
def test_repetition_is_told_from_text(tokens: tuple[int, ...], least: float, most: float) -> None:
    assert least <= repeated(tokens) <= most


def test_noise_that_is_larger_than_the_margin_is_said_with_what_it_needs() -> None:
    """Half of the requests have more accepted by the server than by the replay, and half the other way round:
    no difference, and nothing that could be told."""
    high, low = (1, 1, 1, 2, 3, 2, 2, 9), (9, 1, 1, 2, 3, 2, 2, 1)
    served = tuple(answer(high if number % 2 else low, seed=number) for number in range(12))
    other = tuple(Counts(low if number % 2 else high) for number in range(12))
    found = judged("replayed", having(greedy=served, replayed=Replayed(other, 1000, 1000)))
    assert found.outcome is NOT_CHECKED
    assert "the noise is larger than the margin: 252 verify steps, about" in found.reason


@pytest.mark.parametrize(
    ("version", "engine", "outcome"),
    [
        ("0.5.14", "sglang", PASSED),
        ("0.5.14+cu130", "sglang", PASSED),
        ("0.5.23", "sglang", FAILED),
        ("9.9", "reference", PASSED),
    ],
)
def test_ready_is_the_version_that_the_profile_pins(version: str, engine: str, outcome: Outcome) -> None:
    found = ready.result(healthy().profile, engine, version, 32.0)
    assert (found.check, found.outcome) == ("ready", outcome)


def test_preflight_passes_fails_and_says_why_nobody_looked() -> None:
    assert preflight.result(["H200"], []).outcome is PASSED
    assert preflight.result(["H200"], ["GPU 0 is used by process 7"]).outcome is FAILED
    assert preflight.result(None, (), "tier cpu has no GPUs").outcome is NOT_CHECKED


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"exit_code": 0}, ""),
        ({"exit_code": 1}, "it ended with exit code 1"),
        ({"forced": True}, "SIGTERM was not enough"),
        ({"by_itself": True}, "had ended by itself"),
        ({"port_closed": False}, "its port is still open"),
        ({"survivors": (77,)}, "processes still run: 77"),
    ],
)
def test_shutdown_is_clean_or_says_what_stayed(change: dict[str, Any], problem: str) -> None:
    clean = Stopped(-9, 5.2, forced=False, by_itself=False, port_closed=True, survivors=())
    found = shutdown.result(replace(clean, **change))
    assert found.outcome is (FAILED if problem else PASSED), found
    assert problem in found.reason


def test_gpu_memory_that_stays_taken_fails_the_shutdown() -> None:
    clean = Stopped(-9, 5.2, forced=False, by_itself=False, port_closed=True, survivors=())
    assert shutdown.result(clean, ["GPU 0 holds 3 GiB more than before"]).outcome is FAILED


def test_expected_refusals_follow_the_version_that_runs_and_the_command() -> None:
    from packaging.version import Version

    def refused(version: str, *args: str, **settings: Any) -> dict[str, bool | None]:
        served = having(args=args, settings=settings)
        found = expectations(served.recipe, served.profile, served.settings, "sglang", Version(version))
        return {each.kind.name: each.refused for each in found}

    old, new = refused("0.5.14"), refused("0.5.23")
    assert old["return_logprob"] is True
    assert new["return_logprob"] is False
    # The profile has --grammar-backend none; the last one counts.
    assert (old["json_schema"], new["json_schema"]) == (True, True)
    assert refused("0.5.23", "--grammar-backend xgrammar")["json_schema"] is False
    assert refused("0.5.14", "--grammar-backend xgrammar")["json_schema"] is True
    assert new["return_hidden_states"] is True
    assert refused("0.5.23", "--enable-return-hidden-states")["return_hidden_states"] is True
    both = refused("0.5.23", "--enable-return-hidden-states", "--disable-overlap-schedule")
    assert both["return_hidden_states"] is None
    assert (new["top_k"], new["top_p"]) == (False, False)
    assert refused("0.5.23", refuses=("top_p",))["top_p"] is True


def test_expected_refusals_of_other_engines_are_not_guessed() -> None:
    served = healthy()
    found = expectations(served.recipe, served.profile, served.settings, "vllm", served.version)
    assert {each.refused for each in found} == {None}
    assert all(isinstance(each, Expected) for each in found)
