"""parse() accepts a command if and only if argparse does, and says what is wrong with it."""

from __future__ import annotations

import argparse
import random

import pytest

from tests.engines.argparse_of import accepts, parser_of
from tests.engines.token_lists import tokens
from zoo.engines.options import Snapshot, snapshot, snapshots
from zoo.engines.parsing import REFUSED, TOLERATED, Parsed, parse
from zoo.engines.vllm_tokens import RefusedTokensError, rewritten

ROUNDS = 600


def held(engine: str, version: str) -> Snapshot:
    found = snapshot(engine, version)
    assert found is not None
    return found


OLD, NEW, VLLM = held("sglang", "0.5.14"), held("sglang", "0.5.23"), held("vllm", "0.33.0")


def kinds(parsed: Parsed) -> list[str]:
    return [problem.kind for problem in parsed.problems]


def judged(command: str, engine: Snapshot = OLD) -> Parsed:
    return parse(engine, ["--model-path", "m", *command.split()])


@pytest.mark.parametrize("pin", snapshots())
def test_random_commands_are_accepted_exactly_when_argparse_accepts_them(pin: tuple[str, str]) -> None:
    engine = held(*pin)
    parser = parser_of(engine)
    rng = random.Random(f"{pin}")
    verdicts = []
    for _ in range(ROUNDS):
        given = tokens(engine, rng)
        ours = parse(engine, given)
        theirs = accepts(parser, _for_argparse(engine, given))
        # The file of --config may say what is required: there our verdict is the engine's, not argparse's.
        if any(each.option.dest == "config" for each in ours.given):
            continue
        assert ours.accepted == (theirs is not None), given
        verdicts.append(ours.accepted)
        if theirs is not None:
            assert _set(ours) == set(vars(theirs)) - {"model_tag"}, given
    assert min(verdicts.count(True), verdicts.count(False)) > ROUNDS / 6  # both were compared often


def _for_argparse(engine: Snapshot, given: list[str]) -> list[str]:
    if engine.engine != "vllm":
        return given
    try:
        return [word.text for word in rewritten(given, subcommand=True)]
    except RefusedTokensError:
        return ["--no-such-flag"]


def _set(parsed: Parsed) -> set[str]:
    return {each.option.dest for each in parsed.given if not each.option.positional}


@pytest.mark.parametrize("pin", snapshots())
def test_every_beginning_of_every_name_resolves_as_argparse_resolves_it(pin: tuple[str, str]) -> None:
    engine = held(*pin)
    parser = parser_of(engine)
    beginnings = {name[:end] for name in engine.by_name for end in range(3, len(name) + 1)} - {"--"}
    for beginning in sorted(beginnings):
        ours = engine.exact(beginning) is not None or len(engine.candidates(beginning)) == 1
        found = beginning in parser._option_string_actions or (
            beginning.startswith("--") and len(parser._get_option_tuples(beginning)) == 1
        )
        assert ours == found, beginning


def test_the_values_that_argparse_would_store_are_returned() -> None:
    parsed = judged(
        "--tp-size=4 --tp 8 --cuda-graph-bs-decode 1 2 4 --enable-metrics --mem-fraction-static .8"
    )
    assert parsed.accepted
    assert parsed.value("tp_size") == "8"
    assert parsed.values["cuda_graph_bs_decode"] == ("1", "2", "4")
    assert parsed.values["enable_metrics"] == ("true",)
    assert parsed.value("mem_fraction_static") == ".8"


def test_an_abbreviation_is_accepted_and_named() -> None:
    (problem,) = judged("--tp 8").problems
    assert (problem.kind, problem.name, problem.refused) == ("abbreviation", "--tp-size", False)
    assert "--tp-size" in problem.message


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("--speculative-dflash-blocksize 8", "unknown"),
        ("--speculative-draft 8", "ambiguous"),
        ("--attention-backend fa33", "choice"),
        ("--tp-size eight", "type"),
        ("--tp-size", "missing-value"),
        ("--tp-size --enable-metrics", "missing-value"),
        ("--enable-metrics=1", "unexpected-value"),
        ("--tp-size 8 9", "extra"),
        ("--help", "help"),
        ("--cuda-graph-bs 1 2", "deprecated"),
        ("--tp-size 8 --tp-size 8", "duplicate"),
    ],
)
def test_each_kind_of_problem_is_found(command: str, kind: str) -> None:
    parsed = judged(command)
    assert kinds(parsed) == [kind]
    assert parsed.accepted == (kind in TOLERATED)
    assert parsed.problems[0].hint


def test_a_missing_required_flag_is_a_problem_of_the_whole_command() -> None:
    (problem,) = parse(OLD, ["--tp-size", "8"]).problems
    assert (problem.kind, problem.index, problem.name) == ("required", -1, "--model-path")
    assert parse(OLD, ["--config", "serve.yaml"]).accepted  # the file may say it


def test_an_unknown_flag_takes_its_value_along() -> None:
    parsed = judged("--no-such-flag 8 --tp-size x")
    assert kinds(parsed) == ["unknown", "type"]
    assert [problem.index for problem in parsed.problems] == [2, 4]


def test_all_problems_are_reported_not_the_first() -> None:
    parsed = judged("--tp-size x --attention-backend nope --nonsense")
    assert kinds(parsed) == ["type", "choice", "unknown"]
    assert {problem.kind for problem in parsed.problems} <= REFUSED


def test_versions_differ_as_their_parsers_do() -> None:
    assert judged("--attention-backend cutlass_mla", OLD).accepted
    assert kinds(judged("--attention-backend cutlass_mla", NEW)) == ["choice"]
    assert kinds(judged("--speculative-dflash-draft-window-size 64", OLD)) == ["deprecated"]
    assert kinds(judged("--speculative-dflash-draft-window-size 64", NEW)) == ["unknown"]
    assert kinds(judged("--tool-call-parser kimi_k3", OLD)) == ["choice"]
    assert judged("--tool-call-parser kimi_k3", NEW).accepted
    assert kinds(judged("--speculative-dflash-block 8", OLD)) == ["abbreviation"]


def test_a_toggle_says_true_or_false() -> None:
    parsed = parse(VLLM, ["m", "--no-enable-prefix-caching"])
    assert parsed.values["enable_prefix_caching"] == ("false",)
    assert parse(VLLM, ["m", "--disable-prefix-caching"]).values["enable_prefix_caching"] == ("false",)
    assert parse(VLLM, ["m", "--enable-prefix-caching"]).values["enable_prefix_caching"] == ("true",)


def test_vllm_reads_underscores_dots_and_a_late_model() -> None:
    words = ["--tensor_parallel_size", "2", "--model", "m", "-sc.method", "dflash"]
    words += ["--speculative-config.num_speculative_tokens=7", "-O3"]
    parsed = parse(VLLM, words)
    assert parsed.accepted
    assert parsed.value("model_tag") == "m"
    assert parsed.value("tensor_parallel_size") == "2"
    assert parsed.value("optimization_level") == "3"
    assert [each.index for each in parsed.given if each.option.dest == "speculative_config"] == [4, 6]


def test_vllm_refuses_two_models_and_a_served_name_before_the_model() -> None:
    assert kinds(parse(VLLM, ["a", "--model", "b"])) == ["extra"]
    assert kinds(parse(VLLM, ["--served-model-name", "x", "m"])) == ["misplaced"]
    assert kinds(parse(VLLM, ["--port", "1", "--model"])) == ["misplaced"]
    assert parse(VLLM, ["--served-model-name", "x", "--model", "m"], subcommand=False).accepted


def test_no_engine_has_flags_of_one_letter_that_could_be_joined() -> None:
    """parse() does not take ``-ab`` for ``-a -b``: only -h is such a flag, and it ends everything."""
    for pin in snapshots():
        short = [name for name, each in held(*pin).by_name.items() if len(name) == 2 and not each.takes_value]
        assert short == ["-h"], pin


def test_the_judge_is_argparse_itself() -> None:
    parser = parser_of(OLD)
    assert isinstance(parser, argparse.ArgumentParser)
    assert accepts(parser, ["--model-path", "m"]) is not None
    assert accepts(parser, ["--model-path", "m", "--nonsense"]) is None
