"""The client against a real server that says what SGLang says."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import Any

import pytest

from zoo.errors import UsageError
from zoo.smoke.client import Client, NoAnswerError, RequestRefusedError, Scored
from zoo.smoke.counts import ServedCounts

META = {
    "finish_reason": {"type": "length", "length": 3},
    "prompt_tokens": 2,
    "completion_tokens": 3,
    "cached_tokens": 1,
    "spec_verify_ct": 1,
    "spec_num_correct_drafts": 1,
    "spec_num_proposed_drafts": 7,
    "spec_correct_drafts_histogram": [0, 1],
}
Serve = Callable[[int, Any], Client]


class _Said(BaseHTTPRequestHandler):
    """Answers every request with what the server was given, and keeps the requests."""

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: Any) -> None:
        server: Any = self.server
        server.asked.append((self.path, body, dict(self.headers)))
        raw = server.text if isinstance(server.text, bytes) else json.dumps(server.text).encode()
        self.send_response(server.status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Any]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Said)
    made.asked = []
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def serve(server: Any) -> Iterator[Serve]:
    """``serve(status, said)``: a client of a server that always says that."""
    made: list[Client] = []

    def says(status: int, text: Any) -> Client:
        server.status, server.text = status, text
        url = f"http://127.0.0.1:{server.server_port}"
        made.append(Client(url, timeout_s=10, vocab_size=512, key="s3cret"))
        return made[-1]

    yield says
    for client in made:
        client.__exit__(None, None, None)


def test_an_answer_has_its_tokens_and_counts(serve: Serve, server: Any) -> None:
    client = serve(200, {"text": "x", "output_ids": [7, 8, 9], "meta_info": META})
    answer = client.generate((1, 2), max_new_tokens=3, ignore_eos=True, sampling={"top_k": 5})
    assert answer.output_ids == (7, 8, 9)
    assert answer.counts == ServedCounts((0, 1), 1, 1, 7)
    assert (answer.finish, answer.cached) == ("length", 1)
    path, body, headers = server.asked[-1]
    assert path == "/generate"
    assert body == {
        "input_ids": [1, 2],
        "sampling_params": {"temperature": 0.0, "max_new_tokens": 3, "ignore_eos": True, "top_k": 5},
    }
    assert headers["Authorization"] == "Bearer s3cret"


def test_a_refusal_carries_its_status_and_the_server_s_words(serve: Serve) -> None:
    said = {"error": {"message": "DFLASH speculative decoding does not support return_logprob yet."}}
    with pytest.raises(RequestRefusedError, match="return_logprob yet") as raised:
        serve(400, said).generate((1,), max_new_tokens=1)
    assert raised.value.status == 400


@pytest.mark.parametrize("said", [{"message": "no"}, {"detail": "no"}, {"error": "no"}, b"no"])
def test_errors_of_every_endpoint_are_read(serve: Serve, said: Any) -> None:
    assert serve(500, said).post("/x", {}).said == "no"


def test_what_a_server_says_cannot_write_to_the_terminal(serve: Serve) -> None:
    assert "\x1b" not in serve(400, {"message": "a\x1b[2Jb\nc"}).post("/x", {}).said


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"<html>", "no meta_info"),
        ([1], "no meta_info"),
        ({"output_ids": [1]}, "no meta_info"),
        ({"output_ids": ["a"], "meta_info": {}}, "no output_ids"),
        ({"output_ids": [-1], "meta_info": {}}, "no output_ids"),
        ({"output_ids": [True], "meta_info": {}}, "no output_ids"),
        ({"output_ids": [1.0], "meta_info": {}}, "no output_ids"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deep"),
        ({"output_ids": [1], "meta_info": {"spec_verify_ct": 5}}, "without the counts"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(serve: Serve, said: Any, why: str) -> None:
    with pytest.raises(NoAnswerError, match=why):
        serve(200, said).generate((1,), max_new_tokens=1)


@pytest.mark.parametrize(
    ("ids", "change", "why"),
    [
        ([7, 8], {}, "it has 2 output_ids, and says 3 completion_tokens"),
        ([7, 8, 512], {}, "token 512 is outside the target's vocabulary of 512"),
        (
            [7, 8, 9],
            {"spec_verify_ct": 9, "spec_num_correct_drafts": 54, "spec_num_proposed_drafts": 63},
            "it has 3 tokens, and 9 verify steps with 54 correct drafts give 63",
        ),
        ([7] * 64, {"completion_tokens": 64}, "it has 64 tokens, and 1 verify steps with 1 correct drafts"),
    ],
)
def test_an_answer_that_no_server_can_have_come_to_is_refused(
    serve: Serve, ids: list[int], change: dict[str, Any], why: str
) -> None:
    with pytest.raises(NoAnswerError, match=why):
        serve(200, {"output_ids": ids, "meta_info": META | change}).generate((1,), max_new_tokens=64)


def test_an_answer_that_does_not_end_is_left_when_it_is_too_long(serve: Serve, server: Any) -> None:
    client = serve(200, b" " * (65 * 2**20))
    with pytest.raises(NoAnswerError, match="longer than 64 MiB"):
        client.server_info()


def test_scores_are_those_of_the_last_tokens_with_the_best_beside_them(serve: Serve, server: Any) -> None:
    meta = {
        # The token before the first asked one has no score; the last id of a vocabulary is reported as 0.
        "input_token_logprobs": [[None, 2, None], [-0.1, 7, None], [-1.5, 0, None]],
        "input_top_logprobs": [None, [[-0.1, 7, None]], [[-0.25, 3, None]]],
    }
    client = serve(200, {"output_ids": [1], "meta_info": meta})
    assert client.forced((1, 2, 7, 511), 2) == (Scored(7, -0.1, -0.1), Scored(511, -1.5, -0.25))
    body = server.asked[-1][1]
    assert (body["return_logprob"], body["logprob_start_len"], body["top_logprobs_num"]) == (True, 1, 1)


@pytest.mark.parametrize(
    ("own", "top", "why"),
    [
        (None, None, "no scores"),
        ([[None, 2, None]], [None], "1 scores for 2 tokens"),
        ([[None, 2], [-0.1, 9], [-1.5, 8]], [None, [[-0.1, 7]], [[-0.2, 8]]], "scores token 9"),
        ([[None, 2], [None, 7], [-1.5, 8]], [None, None, [[-0.2, 8]]], "no number"),
    ],
)
def test_scores_that_do_not_fit_the_tokens_are_refused(serve: Serve, own: Any, top: Any, why: str) -> None:
    said = {"output_ids": [1], "meta_info": {"input_token_logprobs": own, "input_top_logprobs": top}}
    with pytest.raises(NoAnswerError, match=why):
        serve(200, said).forced((1, 2, 7, 8), 2)


def test_a_server_that_is_gone_is_said_to_be(serve: Serve, server: Any) -> None:
    client = serve(200, {})
    server.shutdown()
    server.server_close()
    with pytest.raises(NoAnswerError, match="cannot be reached"):
        client.server_info()
    assert client.health_generate() is False


def test_a_server_that_hangs_is_left_after_the_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2)
        with pytest.raises(NoAnswerError, match="no answer in"):
            client.server_info()


def drip(connection: socket.socket, parts: Iterator[bytes]) -> None:
    """A byte now and then, so that no single read takes long."""
    with connection, suppress(OSError):
        connection.recv(65536)
        for part in parts:
            connection.sendall(part)
            time.sleep(0.05)


@pytest.mark.parametrize(
    "begin", [b"HTTP/1.1 200 OK\r\nx: ", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"]
)
@pytest.mark.parametrize(("timeout", "total"), [(0.5, None), (30, 0.5)], ids=["of one request", "of all"])
def test_a_server_that_answers_a_byte_at_a_time_is_left_after_the_limit(
    begin: bytes, timeout: float, total: float | None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as dripping:

        def answer() -> None:
            connection, _ = dripping.accept()
            drip(connection, chain([begin], repeat(b"1", 200)))

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{dripping.getsockname()[1]}"
        started = time.monotonic()
        with (
            Client(url, timeout_s=timeout, total_s=total) as client,
            pytest.raises(NoAnswerError, match="no answer in"),
        ):
            client.server_info()
        assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "url",
    [
        "localhost:30000",
        "ftp://x",
        "http://",
        "",
        "http://[::1",
        "http://a:b",
        "http://x:99999",
        "http://x y",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        Client(url)


def test_a_proxy_of_the_environment_is_not_asked_for_a_server_on_this_machine(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert serve(200, {"version": "0.5.14"}).server_info() == {"version": "0.5.14"}
