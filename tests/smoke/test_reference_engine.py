"""The reference engine, as a real process with the tiny pair: lossless, honest counts, SGLang's shapes."""

from __future__ import annotations

import json
import math
import socket
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.replay.reference_kit import TINY, one_thread, tiny, tiny_draft
from tests.smoke.reference_kit import (
    NEW_TOKENS,
    TARGET,
    Engine,
    broken_copy,
    prompts,
    random_weights,
    reference_engine,
    start,
    zeroed_fc,
)

pytestmark = pytest.mark.torch

Engines = Callable[..., Engine]
BEYOND = 16
Answers = list[dict[str, Any]]
BROKEN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "random": random_weights,
    "zero-fc": zeroed_fc,
    "drop-q": lambda weights: {name: each for name, each in weights.items() if ".q_proj." not in name},
    "prefix": lambda weights: {f"draft.{name}": each for name, each in weights.items()},
}


@pytest.fixture(scope="module")
def drafts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The trained drafts and the broken ones, by name."""
    one_thread()
    folder = tmp_path_factory.mktemp("drafts")
    made = {name: broken_copy(folder / name, change) for name, change in BROKEN.items()}
    return {"base": TINY / "base", "tiny-ft": TINY / "tiny-ft"} | made


@pytest.fixture(scope="module")
def served(engine: Engines, drafts: dict[str, Path]) -> Callable[[str], Answers]:
    """The greedy answers to all prompts of a server with this draft."""

    @cache
    def answers(name: str) -> Answers:
        return [engine(drafts[name]).generate(prompt) for prompt in prompts()]

    return answers


@pytest.fixture(scope="module")
def alone(engine: Engines) -> list[list[int]]:
    """The target's own greedy answers."""
    return [engine(None).generate(prompt)["output_ids"] for prompt in prompts()]


def local(draft: Path, seed: int = 1) -> Any:
    """The engine in this process, without a server."""
    from zoo.smoke.reference.draft import load_draft
    from zoo.smoke.reference.engine import Engine
    from zoo.smoke.reference.target import Target

    one_thread()
    target = Target(TARGET, "float32", tokenizer=False, context_length=None)
    return Engine(target, load_draft(draft, target, ("sglang", "0.5.14"), None, seed), seed)


def answer_of(running: Any, prompt: list[int], temperature: float = 0) -> Any:
    from zoo.smoke.reference.requests import Request
    from zoo.smoke.reference.sampling import Sampling

    *_, answer = running.generate(Request(tuple(prompt), Sampling(NEW_TOKENS, temperature)))
    return answer


def counts(answers: Answers) -> tuple[int, int]:
    """Correct drafts and verify steps of all answers."""
    found = [answer["meta_info"] for answer in answers]
    return sum(each["spec_num_correct_drafts"] for each in found), sum(
        each["spec_verify_ct"] for each in found
    )


@pytest.mark.parametrize("name", ["tiny-ft", "base", "random", "zero-fc"])
def test_greedy_answers_in_float32_are_the_target_s_own_with_any_draft(
    served: Callable[[str], Answers], alone: list[list[int]], name: str
) -> None:
    assert [answer["output_ids"] for answer in served(name)] == alone


def test_the_target_s_own_answers_are_those_of_the_plain_greedy_loop(alone: list[list[int]]) -> None:
    import torch

    (reference,) = tiny("reference")
    target = reference.load_target(TARGET)
    own = [reference.greedy(target, torch.tensor([prompt]), NEW_TOKENS, 0) for prompt in prompts()]
    assert alone == own


@pytest.mark.parametrize(("name", "correct", "steps"), [("base", 486, 127), ("tiny-ft", 514, 103)])
def test_trained_drafts_count_what_the_readme_of_the_tiny_pair_records(
    served: Callable[[str], Answers], name: str, correct: int, steps: int
) -> None:
    assert counts(served(name)) == pytest.approx((correct, steps), abs=8)  # near ties differ between CPUs


@pytest.mark.parametrize("name", ["random", "zero-fc"])
def test_a_broken_draft_is_served_without_a_complaint_and_only_the_counts_show_it(
    engine: Engines, drafts: dict[str, Path], served: Callable[[str], Answers], name: str
) -> None:
    (correct, steps), healthy = counts(served(name)), counts(served("tiny-ft"))
    assert correct / steps < 0.25 * healthy[0] / healthy[1]
    assert engine(drafts[name]).get("/health_generate")[0] == 200
    assert not {"warning:", "error:"} & set(engine(drafts[name]).log.split())


@pytest.mark.parametrize("name", ["drop-q", "prefix"])
def test_missing_and_foreign_tensors_are_no_reason_to_complain_but_acceptance_is_lost(
    drafts: dict[str, Path],
    alone: list[list[int]],
    served: Callable[[str], Answers],
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    running = local(drafts[name])
    assert [answer_of(running, prompt).tokens for prompt in prompts()] == alone
    healthy = counts(served("tiny-ft"))
    assert running.correct / running.steps < 0.5 * healthy[0] / healthy[1]
    assert capsys.readouterr().err == ""


def test_counts_of_an_answer_fit_together(engine: Engines, drafts: dict[str, Path]) -> None:
    for temperature in (0, 1):
        for prompt in prompts():
            found = engine(drafts["tiny-ft"]).generate(prompt, temperature=temperature)["meta_info"]
            histogram, steps = found["spec_correct_drafts_histogram"], found["spec_verify_ct"]
            assert sum(histogram) == steps
            assert sum(k * number for k, number in enumerate(histogram)) == found["spec_num_correct_drafts"]
            assert found["spec_num_proposed_drafts"] == 7 * steps
            assert found["spec_accept_length"] == found["completion_tokens"] / steps
            assert found["prompt_tokens"] == len(prompt)
            # All but the first token come from the steps; the last step may go over the end.
            over = found["spec_num_correct_drafts"] + steps - (found["completion_tokens"] - 1)
            assert 0 <= over <= 7


def test_served_counts_are_those_of_the_replay_s_walk_over_the_same_tokens(
    engine: Engines, drafts: dict[str, Path]
) -> None:
    from zoo.replay.acceptance import pooled

    running = engine(drafts["tiny-ft"])
    served, walks = Counter[int](), []
    for prompt in prompts():
        answer = running.generate(prompt, ignore_eos=True)
        beyond = running.generate(prompt, ignore_eos=True, max_new_tokens=NEW_TOKENS + BEYOND)
        assert beyond["output_ids"][:NEW_TOKENS] == answer["output_ids"]
        served.update(dict(enumerate(answer["meta_info"]["spec_correct_drafts_histogram"])))
        acceptance = _replayed(prompt, beyond["output_ids"])
        walks.append(acceptance.walk(len(prompt), len(prompt) + NEW_TOKENS - 1))
    assert tuple(served[k] for k in range(8)) == pooled(walks).histogram


def test_steps_of_a_sampled_stream_begin_where_the_replay_s_walk_does(
    engine: Engines, drafts: dict[str, Path]
) -> None:
    for prompt in prompts()[:6]:
        settings = {"temperature": 1, "max_new_tokens": NEW_TOKENS + BEYOND, "ignore_eos": True}
        chunks = list(engine(drafts["tiny-ft"]).stream(prompt, **settings))
        tokens = chunks[-1]["output_ids"]
        anchors = [chunk["meta_info"]["completion_tokens"] - 1 for chunk in chunks[:-1]]
        walked = _replayed(prompt, tokens).walked(len(prompt))
        assert len(walked) > 4
        assert walked == anchors[: len(walked)]


def _replayed(prompt: list[int], output: list[int]) -> Any:
    """What the replay makes of these tokens, with states of one pass over all of them."""
    import torch
    from transformers import DynamicCache

    from zoo.replay.acceptance import accept
    from zoo.smoke.reference.target import Target

    one_thread()
    draft = tiny_draft("tiny-ft")
    target = Target(TARGET, "float32", tokenizer=False, context_length=None)
    target.tap(draft.aux_ids)
    with torch.inference_mode():
        _, states = target.forward([*prompt, *output], DynamicCache(), keep=1)
        tokens = torch.tensor([*prompt, *output])
        return accept(draft, states, tokens, len(prompt), target.embed, target.lm_head)


def test_a_stream_gives_growing_tokens_and_the_counts_in_its_last_chunk(
    engine: Engines, drafts: dict[str, Path]
) -> None:
    running = engine(drafts["tiny-ft"])
    chunks = list(running.stream(prompts()[0], temperature=0, max_new_tokens=NEW_TOKENS))
    whole = running.generate(prompts()[0])
    assert chunks[-1]["output_ids"] == whole["output_ids"]
    assert chunks[-1]["text"] == whole["text"]
    assert (
        chunks[-1]["meta_info"]["spec_verify_ct"] == whole["meta_info"]["spec_verify_ct"] == len(chunks) - 1
    )
    for before, after in pairwise(chunks):
        assert after["output_ids"][: len(before["output_ids"])] == before["output_ids"]
        assert before["meta_info"]["finish_reason"] is None
        assert "spec_verify_ct" not in before["meta_info"]


def test_the_target_alone_scores_served_tokens_as_its_likeliest(
    engine: Engines, alone: list[list[int]]
) -> None:
    prompt, answer = prompts()[0], alone[0]
    begin = len(prompt)
    body = {
        "input_ids": [*prompt, *answer],
        "sampling_params": {"temperature": 0, "max_new_tokens": 1},
        "return_logprob": True,
        "logprob_start_len": begin - 1,
        "top_logprobs_num": 2,
    }
    status, found = engine(None).post("/generate", body)
    assert status == 200
    scores, best = found["meta_info"]["input_token_logprobs"], found["meta_info"]["input_top_logprobs"]
    assert scores[0] == [None, prompt[-1], None]
    assert best[0] is None
    assert [token for _, token, _ in scores[1:]] == answer
    for (own, token, _), likeliest in zip(scores[1:], best[1:], strict=True):
        assert likeliest[0][:2] == [own, token]
        assert likeliest[0][0] >= likeliest[1][0]
    assert "spec_verify_ct" not in found["meta_info"]
    assert len(found["meta_info"]["output_token_logprobs"]) == 1


def test_scores_of_generated_tokens_are_those_of_the_same_tokens_in_a_prompt(
    engine: Engines, alone: list[list[int]]
) -> None:
    prompt = prompts()[1]
    sampling = {"temperature": 0, "max_new_tokens": NEW_TOKENS}
    asked = {"input_ids": prompt, "sampling_params": sampling, "return_logprob": True}
    _, made = engine(None).post("/generate", asked)
    forced = asked | {"input_ids": [*prompt, *alone[1]], "logprob_start_len": len(prompt) - 1}
    _, found = engine(None).post("/generate", forced | {"sampling_params": sampling | {"max_new_tokens": 0}})
    assert found["output_ids"] == []
    assert made["meta_info"]["input_token_logprobs"] == []
    outputs = [value for value, *_ in made["meta_info"]["output_token_logprobs"]]
    assert outputs == pytest.approx(
        [value for value, *_ in found["meta_info"]["input_token_logprobs"][1:]], abs=1e-3
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"return_logprob": True}, "DFLASH speculative decoding does not support return_logprob yet."),
        (
            {"sampling_params": {"json_schema": '{"type": "object"}'}},
            "DFLASH speculative decoding does not support grammar-constrained decoding yet.",
        ),
        ({"sampling_params": {"regex": "a+"}}, "grammar-constrained decoding yet."),
        ({"sampling_params": {"max_new_tokens": 100_000}}, "maximum context length of 4096 tokens"),
        ({"sampling_params": {"temperature": -1}}, "temperature must be a number from 0"),
        ({"sampling_params": {"beam_width": 4}}, 'unknown sampling parameter "beam_width"'),
        ({"sampling_params": {"stop": ["x"]}}, "the reference engine has no stop"),
        ({"sampling_params": {"top_k": 0}}, "top_k must be -1 (disable) or at least 1"),
        ({"input_ids": [[1], [2]]}, "one prompt a request"),
        ({"input_ids": [512]}, "a token outside the vocabulary of 512"),
        ({"input_ids": []}, "input_ids is not a list of token ids"),
        ({"text": "both"}, "Either text or input_ids should be provided."),
        ({"return_hidden_states": True}, "knows no field"),
    ],
)
def test_what_a_server_with_a_draft_cannot_do_is_answered_with_400(
    engine: Engines, drafts: dict[str, Path], body: dict[str, Any], words: str
) -> None:
    status, answer = engine(drafts["tiny-ft"]).post("/generate", {"input_ids": [1, 2, 3]} | body)
    assert status == 400
    assert words in answer["error"]["message"]


def test_bodies_that_are_no_json_and_unknown_paths_are_refused(engine: Engines) -> None:
    running = engine(None)
    assert running.post("/nowhere", {}) == (404, {"detail": "Not Found"})
    assert running.get("/generate")[0] == 404
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as raw:
        raw.sendall(b"POST /generate HTTP/1.0\r\nContent-Length: 5\r\n\r\n{'a':")
        assert b"400" in raw.makefile("rb").readline()


def test_an_answer_ends_at_an_end_token_also_within_a_block(
    engine: Engines, drafts: dict[str, Path], alone: list[list[int]]
) -> None:
    stop = alone[0][5]
    expected = alone[0][: alone[0].index(stop) + 1]
    for running in (engine(None), engine(drafts["tiny-ft"])):
        answer = running.generate(prompts()[0], stop_token_ids=[stop])
        assert answer["output_ids"] == expected
        assert answer["meta_info"]["finish_reason"] == {"type": "stop", "matched": stop}
        longer = running.generate(prompts()[0], stop_token_ids=[stop], ignore_eos=True)
        assert longer["output_ids"] == alone[0]
        assert longer["meta_info"]["finish_reason"] == {"type": "length", "length": NEW_TOKENS}


def test_text_goes_in_and_out_through_the_target_s_tokenizer(engine: Engines) -> None:
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(TARGET)
    running = engine(None)
    text = tokenizer.decode(prompts()[0])
    body = {"text": text, "sampling_params": {"temperature": 0, "max_new_tokens": 12}}
    _, answer = running.post("/generate", body)
    assert answer["output_ids"] == running.generate(tokenizer.encode(text), max_new_tokens=12)["output_ids"]
    assert answer["text"] == tokenizer.decode(answer["output_ids"], skip_special_tokens=True)


def test_chat_goes_through_the_template_and_gives_meta_info_on_request(
    engine: Engines, drafts: dict[str, Path]
) -> None:
    (data,) = tiny("data")
    messages = data.held_out_prompts("agent", 1)[0]
    running = engine(drafts["tiny-ft"])
    asked = {"model": "m", "messages": messages, "max_tokens": NEW_TOKENS, "temperature": 0}
    status, answer = running.post("/v1/chat/completions", asked | {"return_meta_info": True})
    direct = running.generate(prompts(1)[0])
    (choice,) = answer["choices"]
    assert status == 200
    assert choice["message"]["content"] == direct["text"]
    assert choice["meta_info"]["spec_verify_ct"] == direct["meta_info"]["spec_verify_ct"]
    assert choice["finish_reason"] == direct["meta_info"]["finish_reason"]["type"]
    assert answer["usage"]["prompt_tokens"] == len(prompts(1)[0])
    assert "meta_info" not in running.post("/v1/chat/completions", asked)[1]["choices"][0]
    for forced in ({"tool_choice": "required"}, {"response_format": {"type": "json_object"}}):
        status, answer = running.post("/v1/chat/completions", asked | forced)
        assert (status, answer["code"]) == (400, 400)
        assert "grammar-constrained" in answer["message"]
    status, answer = running.post(
        "/v1/chat/completions", asked | {"messages": [{"role": "poet", "content": ""}]}
    )
    assert status == 400
    assert "the tiny target knows the roles" in answer["message"]


def test_requests_side_by_side_get_the_answers_that_they_get_alone(
    engine: Engines, drafts: dict[str, Path], alone: list[list[int]]
) -> None:
    running = engine(drafts["base"])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda prompt: running.generate(prompt)["output_ids"], prompts()[:8]))
    assert answers == alone[:8]


def test_server_and_model_say_what_runs(engine: Engines, drafts: dict[str, Path]) -> None:
    running = engine(drafts["tiny-ft"])
    running.generate(prompts()[0])
    _, info = running.get("/server_info")
    assert info["engine"] == "reference"
    assert info["speculative_algorithm"] == "DFLASH"
    assert info["speculative_draft_model_path"] == str(drafts["tiny-ft"])
    assert info["speculative_num_draft_tokens"] == 8
    assert info["internal_states"][0]["avg_spec_accept_length"] > 3
    assert info["internal_states"][0]["memory_usage"]["token_capacity"] == 4096
    assert running.get("/model_info")[1]["architectures"] == ["Qwen3ForCausalLM"]
    assert engine(None).get("/server_info")[1]["speculative_algorithm"] is None
    assert running.post("/flush_cache", {})[0] == 200


def test_another_block_size_than_the_config_s_warns_and_counts(
    tmp_path: Path, alone: list[list[int]]
) -> None:
    flags = ("--speculative-num-draft-tokens", "4")
    with reference_engine(tmp_path / "log", TINY / "tiny-ft", *flags) as running:
        answer = running.generate(prompts()[0])
        found = answer["meta_info"]
        words = "using speculative_num_draft_tokens=4 but draft config block_size=8."
        assert f"DFLASH block size mismatch: {words}" in running.log
        assert "block_size=4" in running.log
        assert found["spec_num_proposed_drafts"] == 3 * found["spec_verify_ct"]
        assert len(found["spec_correct_drafts_histogram"]) <= 4
        assert answer["output_ids"] == alone[0]
        # One that is stopped ends the requests that run, and says so with exit status 0.
        stream = running.stream(prompts()[1], temperature=0, max_new_tokens=400, ignore_eos=True)
        next(stream)
        stopped: list[int] = []
        stopping = threading.Thread(target=lambda: stopped.append(running.stop()))
        stopping.start()
        assert len(list(stream)[-1]["output_ids"]) == 400
        stopping.join()
        assert stopped == [0]
        assert all(line.startswith("reference engine: ") for line in running.log.splitlines())


def test_sampling_repeats_with_the_seed_and_differs_from_greedy(alone: list[list[int]]) -> None:
    engines = [local(TINY / "tiny-ft", seed) for seed in (5, 5, 6)]
    runs = [[answer_of(each, prompt, 1.5).tokens for prompt in prompts()[:3]] for each in engines]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
    assert runs[0] != alone[:3]


def test_a_draft_that_does_not_fit_ends_the_start_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    from zoo.smoke.reference.__main__ import main

    narrow = broken_copy(tmp_path / "narrow", lambda all_: all_ | {"fc.weight": torch.zeros(128, 256)})
    outside = _with_config(tmp_path / "outside", mask_token_id=512)
    deeper = _with_config(tmp_path / "deeper", target_layer_ids=[0, 1, 4])
    wrong = {
        narrow: '"fc.weight" has the shape [128, 256], its config says [128, 384]',
        outside: "mask_token_id 512 is outside the target vocab size 512",
        deeper: "out-of-range layer id",
        tmp_path / "nowhere": "nowhere",
    }
    for draft, words in wrong.items():
        drafted = ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", str(draft)]
        assert main(["--model-path", str(TARGET), "--port", "0", *drafted]) == 1
        last = capsys.readouterr().err.splitlines()[-1]
        assert last.startswith("reference engine: cannot start: ")
        assert words in last


def _with_config(folder: Path, **keys: Any) -> Path:
    """tiny-ft with other values in its ``dflash_config``."""
    broken_copy(folder, lambda weights: weights)
    config = json.loads((folder / "config.json").read_text())
    config["dflash_config"] |= keys
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_port_in_use_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        log = tmp_path / "log"
        assert start(log, None, port=taken.getsockname()[1]).wait(60) == 1
    assert "Address already in use" in log.read_text()
    assert "target:" not in log.read_text()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--no-such-flag", "1"], "unrecognized arguments: --no-such-flag"),
        (["stray"], "unrecognized arguments: stray"),
        (["--speculative-algorithm", "EAGLE3"], "runs DFLASH drafts only"),
        (["--speculative-algorithm", "DFLASH"], "requires setting --speculative-draft-model-path"),
        (["--reading", "sglang==9"], "no reading for"),
        (
            ["--speculative-num-draft-tokens", "4", "--speculative-dflash-block-size", "8"],
            "are one number",
        ),
    ],
)
def test_a_wrong_command_line_ends_with_2(
    flags: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from zoo.smoke.reference.__main__ import main

    with pytest.raises(SystemExit) as ended:
        main(["--model-path", str(TARGET), *flags])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_flags_of_sglang_that_mean_nothing_here_are_ignored_with_a_line_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from zoo.smoke.reference.__main__ import _is_flag
    from zoo.smoke.reference.options import parse

    words = (
        "--model-path T --attention-backend triton --tp 1 --port 31000 --disable-cuda-graph --dtype bfloat16"
    )
    options = parse(words.split(), _is_flag)
    assert (options.port, options.dtype, options.draft) == (31000, "bfloat16", None)
    lines = capsys.readouterr().err.splitlines()
    ignored = ["--attention-backend triton", "--tp 1", "--disable-cuda-graph"]
    assert lines == [f"reference engine: ignored, it means nothing here: {each}" for each in ignored]


def test_parameters_of_a_draft_are_those_of_its_inventory() -> None:
    from zoo.drafts.dflash import inventory
    from zoo.replay.reference.dflash import reading
    from zoo.smoke.reference.draft import parameters

    config = json.loads((TINY / "tiny-ft" / "config.json").read_text())
    for bias in (False, True):
        stated = config | {"attention_bias": bias}
        expected = {name: spec.shape for name, spec in inventory(stated, "float32").items()}
        assert parameters(reading(stated)) == expected


def test_verification_gives_tokens_as_the_target_does_whatever_is_proposed() -> None:
    import torch

    from zoo.smoke.reference.sampling import Sampling, distribution, verify

    logits = torch.tensor([[1.0, 0.2, -0.5, 0.7], [0.3, 0.1, 0.9, -1.0]])
    sampling = Sampling(temperature=0.8)
    chances = distribution(logits, sampling)
    made, draws = torch.Generator().manual_seed(3), 4000
    for proposed in range(4):
        first, second, after = Counter[int](), Counter[int](), 0
        for _ in range(draws):
            accepted, token = verify([proposed], logits, sampling, made)
            first[proposed if accepted else token] += 1
            if accepted:
                second[token] += 1
                after += 1
        for token in range(4):
            _near(first[token], draws, float(chances[0, token]))
            _near(second[token], after, float(chances[1, token]))
        _near(after, draws, float(chances[0, proposed]))


def _near(count: int, draws: int, chance: float) -> None:
    """Within four standard deviations of a binomial."""
    assert abs(count - draws * chance) < 4 * math.sqrt(draws * chance * (1 - chance)) + 1


def test_top_k_and_top_p_keep_the_likeliest_tokens() -> None:
    import torch

    from zoo.smoke.reference.sampling import Sampling, distribution

    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    assert distribution(logits, Sampling(top_k=2)).tolist()[0] == pytest.approx([0.625, 0.375, 0, 0])
    assert distribution(logits, Sampling(top_p=0.8)).tolist()[0] == pytest.approx([0.625, 0.375, 0, 0])
    assert distribution(logits, Sampling(top_p=0.81)).tolist()[0][2] > 0
    both = distribution(logits, Sampling(top_k=2, top_p=0.5)).tolist()[0]
    assert both == pytest.approx([1, 0, 0, 0])
