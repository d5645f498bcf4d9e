"""A server that somebody else started, and that is not what it seems: it answers 200 all the same."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.smoke.served_kit import HEALTHY, INFO, answer, healthy
from zoo.results import Outcome
from zoo.smoke.attach import ask_running
from zoo.smoke.client import Client, NoAnswerError

PASSED, FAILED, NOT_CHECKED = Outcome.PASSED, Outcome.FAILED, Outcome.NOT_CHECKED
TOKENS = 64
# Sixteen verify steps a request, which give 67 tokens, the prefill's included: the last block is cut.
HISTOGRAM = [2, 2, 2, 2, 3, 2, 1, 2]
RECIPE = healthy().recipe
PATH = "speculative_draft_model_path"
Says = dict[str, Any]


def says(number: int, **change: Any) -> Says:
    """What a healthy server says to request ``number``."""
    meta = {
        "finish_reason": {"type": "length"},
        "completion_tokens": TOKENS,
        "spec_verify_ct": sum(HISTOGRAM),
        "spec_num_correct_drafts": sum(k * steps for k, steps in enumerate(HISTOGRAM)),
        "spec_num_proposed_drafts": 7 * sum(HISTOGRAM),
        "spec_correct_drafts_histogram": HISTOGRAM,
    }
    ids = list(answer(HEALTHY, seed=number, tokens=TOKENS).output_ids)
    return {"output_ids": ids, "meta_info": meta} | change


@contextmanager
def server(info: Mapping[str, Any], say: Callable[[int], Says]) -> Iterator[Client]:
    asked: list[object] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send(info)

        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send(say(len(asked)))

        def send(self, said: Mapping[str, Any]) -> None:
            raw = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    try:
        url = f"http://127.0.0.1:{made.server_port}"
        with Client(url, timeout_s=10, vocab_size=RECIPE.target.vocab_size) as client:
            yield client
    finally:
        made.shutdown()
        made.server_close()


def outcomes(path: str, say: Callable[[int], Says] = says) -> dict[str, Outcome]:
    served = healthy()
    prompts = [(1, 2, number) for number in range(8)]
    with server(INFO | {PATH: path}, say) as client:
        found = ask_running(client, served.recipe, served.profile, served.settings, prompts)
    return {each.check: each.outcome for each in found}


@pytest.mark.parametrize("path", [RECIPE.repo, f"/srv/{RECIPE.name}", f"/srv/{RECIPE.name}/"])
def test_a_server_with_the_name_of_the_draft_and_honest_counts_passes(path: str) -> None:
    assert set(outcomes(path).values()) == {PASSED}


@pytest.mark.parametrize("path", ["draft-zoo/another", "/srv/draft", f"/srv/not-{RECIPE.name}"])
def test_another_name_is_no_proof_and_nothing_is_said_of_the_draft(path: str) -> None:
    found = outcomes(path)
    assert found.pop("draft-loaded") is NOT_CHECKED
    assert set(found.values()) == {PASSED}


def test_one_token_again_and_again_is_not_alive() -> None:
    found = outcomes(RECIPE.repo, lambda number: says(number, output_ids=[7] * TOKENS))
    assert [name for name, outcome in found.items() if outcome is FAILED] == ["repetition"]


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        ([7, 8], "2 output_ids, and says 64 completion_tokens"),
        ([RECIPE.target.vocab_size] * TOKENS, "outside the target's vocabulary"),
        (["7"] * TOKENS, "no output_ids"),
    ],
)
def test_an_answer_that_is_none_is_not_judged(ids: list[Any], why: str) -> None:
    with pytest.raises(NoAnswerError, match=why):
        outcomes(RECIPE.repo, lambda number: says(number, output_ids=ids))
