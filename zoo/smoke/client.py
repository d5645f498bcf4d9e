"""The client of a server: the few endpoints of SGLang 0.5.14 and 0.5.23 that the probes use.

    with Client("http://127.0.0.1:30000") as client:
        answer = client.generate((1, 350, 225), max_new_tokens=64)
        answer.counts.accept_length

Requests are token ids, so that nothing depends on a tokenizer, and answers are whole, because the counts of
a request come with its last chunk only. What a server says is untrusted: its words are made printable, its
answers have a limit of time and of size, and one that no server can have come to is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeGuard
from urllib.parse import urlsplit

from zoo.errors import UsageError, ZooError
from zoo.printable import printable, quoted
from zoo.remote.client import httpx
from zoo.smoke.counts import ServedCounts, counts_of

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SAID = 300
# Of an answer: the scores of a prompt of 128k tokens are some 16 MiB.
_MOST_BYTES = 64 * 2**20
# A server that needs longer than this for each token is taken for one that hangs.
_PER_TOKEN_S = 0.5


class NoAnswerError(ZooError):
    """The server did not answer, or what it said is not an answer."""


class RequestRefusedError(ZooError):
    """The server answered with an error. ``status`` is that of HTTP, ``said`` the server's own words."""

    def __init__(self, path: str, status: int, said: str) -> None:
        said = printable(said, keep="", limit=_SAID)
        super().__init__(
            f"the server refused {path}: {status} {said}", hint="its log says more; zoo smoke --out keeps it"
        )
        self.status = status
        self.said = said


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the status of HTTP, the JSON object (empty if it is none), and the seconds it took."""

    status: int
    data: Mapping[str, Any]
    seconds: float

    @property
    def said(self) -> str:
        """The server's words about an error, in one line."""
        return _said(self.data)


@dataclass(frozen=True, slots=True)
class Answer:
    """A request and its output. ``finish``: ``length``, ``stop`` or another reason of the server. ``counts``
    is None without speculation. ``cached``: tokens of the prompt that a cache had."""

    input_ids: tuple[int, ...]
    output_ids: tuple[int, ...]
    finish: str
    counts: ServedCounts | None
    cached: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Scored:
    """A token of a given text, its log probability after all before it, and that of the likeliest, in
    nats."""

    token: int
    logprob: float
    best: float


class Client:
    """A connection to one server. ``timeout_s`` bounds each request to its last byte, and half a second is
    added for each token to generate; ``total_s`` bounds all of them together, from now on. ``vocab_size``: of
    the target, beyond which no token is one. ``key`` is sent as a bearer token.

    Raises UsageError if ``url`` is no address.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float = 120.0,
        total_s: float | None = None,
        vocab_size: int | None = None,
        key: str | None = None,
    ) -> None:
        host = _host(url)
        self.url = url.rstrip("/")
        self._timeout_s, self._vocab_size = timeout_s, vocab_size
        self._end = None if total_s is None else monotonic() + total_s
        # Not compressed: a small answer must not become a large one here.
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {key}"} if key else {})
        # No proxy stands between us and a server on this machine.
        local = host in _LOOPBACK
        self._http = httpx.Client(timeout=timeout_s, headers=headers, trust_env=not local)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str) -> Reply:
        """Raises NoAnswerError."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Mapping[str, Any], *, more_s: float = 0.0) -> Reply:
        """``more_s``: seconds that this request may take beyond the client's limit. Raises NoAnswerError."""
        return self._ask("POST", path, body, more_s)

    def server_info(self) -> Mapping[str, Any]:
        """The resolved arguments of the server, its version, and the state of each scheduler.

        Raises NoAnswerError, RequestRefusedError.
        """
        return _granted("/server_info", self.get("/server_info")).data

    def health_generate(self) -> bool:
        """Whether the server generates a token now; False too where it does not answer."""
        try:
            return self.get("/health_generate").status == 200
        except NoAnswerError:
            return False

    def flush_cache(self) -> bool:
        """Empty the server's prefix cache; False where it does not, e.g. because requests are running."""
        return self.post("/flush_cache", {}).status == 200

    def generate(
        self,
        input_ids: Sequence[int],
        *,
        max_new_tokens: int,
        temperature: float = 0.0,
        ignore_eos: bool = False,
        sampling: Mapping[str, Any] | None = None,
    ) -> Answer:
        """One request. ``sampling``: further sampling parameters.

        Raises NoAnswerError, RequestRefusedError.
        """
        parameters = {
            "temperature": temperature,
            "max_new_tokens": max_new_tokens,
            "ignore_eos": ignore_eos,
            **(sampling or {}),
        }
        body = {"input_ids": list(input_ids), "sampling_params": parameters}
        reply = _granted("/generate", self.post("/generate", body, more_s=_PER_TOKEN_S * max_new_tokens))
        return _answer(tuple(input_ids), reply, self._vocab_size)

    def forced(self, input_ids: Sequence[int], start: int) -> tuple[Scored, ...]:
        """Teacher forcing: the tokens from position ``start`` (at least 1) on, scored by the target.

        Raises NoAnswerError, RequestRefusedError. A DFLASH server before SGLang 0.5.18 refuses this.
        """
        body = {
            "input_ids": list(input_ids),
            "sampling_params": {"temperature": 0, "max_new_tokens": 1},
            "return_logprob": True,
            "logprob_start_len": start - 1,  # the first of the list never has a score
            "top_logprobs_num": 1,
        }
        reply = _granted("/generate", self.post("/generate", body))
        return _scored(tuple(input_ids[start:]), reply)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, more_s: float = 0.0) -> Reply:
        started = monotonic()
        limit = self._timeout_s + more_s
        if self._end is not None:
            limit = max(0.0, min(limit, self._end - started))
        try:
            status, raw = _within(limit, lambda: self._fetch(method, path, body, limit))
        except (TimeoutError, httpx.TimeoutException) as error:
            raise NoAnswerError(
                f"the server does not answer: {printable(self.url)}{path} gave no answer in "
                f"{monotonic() - started:.0f} s",
                hint="it hangs or is busy: look at its log",
            ) from error
        except httpx.HTTPError as error:
            raise NoAnswerError(
                f"{printable(self.url)}{path} cannot be reached: {_words(error)}",
                hint="is the server still running? look at its log",
            ) from error
        return Reply(status, _object(path, raw), monotonic() - started)

    def _fetch(
        self, method: str, path: str, body: Mapping[str, Any] | None, limit_s: float
    ) -> tuple[int, bytes]:
        """The status and the whole body. A server that sends a byte now and then keeps no connection open
        for longer than ``limit_s``."""
        end, raw = monotonic() + limit_s, bytearray()
        with self._http.stream(method, self.url + path, json=body, timeout=limit_s) as response:
            for chunk in response.iter_raw():
                raw += chunk
                if len(raw) > _MOST_BYTES:
                    raise _not_one(path, f"it is longer than {_MOST_BYTES >> 20} MiB")
                if monotonic() > end:
                    raise TimeoutError
            return response.status_code, bytes(raw)


def _host(url: str) -> str:
    """Raises UsageError if ``url`` is no address of a server."""
    try:
        parts = urlsplit(url)
        words = url.isprintable() and " " not in url
        valid = words and parts.scheme in ("http", "https") and parts.port != 0 and bool(httpx.URL(url).host)
    except (ValueError, httpx.InvalidURL):
        valid = False
    if not valid or not parts.hostname:
        raise UsageError(f"{quoted(url)} is no address of a server", hint="e.g. http://127.0.0.1:30000")
    return parts.hostname


def _within(seconds: float, work: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
    """What ``work`` gives, or TimeoutError. It runs in a thread of its own, which is left alone when the time
    is over: the limits of httpx are for each read, and the header of an answer may be thousands of them."""
    done: Future[tuple[int, bytes]] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # for whoever waits
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done.result(timeout=seconds)


def _object(path: str, raw: bytes) -> Mapping[str, Any]:
    """The JSON object of an answer; what is none as the message of one. Raises NoAnswerError."""
    try:
        data = json.loads(raw)
    except RecursionError as error:
        raise _not_one(path, "its JSON is nested too deep") from error
    except ValueError:
        text = raw[: 4 * _SAID].decode("utf-8", "replace").strip()
        data = {"message": text[:_SAID]} if text else {}
    return data if isinstance(data, dict) else {"data": data}


def _words(error: object) -> str:
    return printable(str(error), keep="", limit=_SAID)


def _granted(path: str, reply: Reply) -> Reply:
    if reply.status != 200:
        raise RequestRefusedError(path, reply.status, reply.said)
    return reply


def _said(data: Mapping[str, Any]) -> str:
    """SGLang says {"error": {"message"}}, {"message"} (OpenAI endpoints) or {"detail"} (FastAPI)."""
    error = data.get("error", data)
    return _words(error.get("message", error.get("detail", "")) if isinstance(error, dict) else error)


def _answer(input_ids: tuple[int, ...], reply: Reply, vocab_size: int | None) -> Answer:
    meta, tokens = reply.data.get("meta_info"), reply.data.get("output_ids")
    if not isinstance(meta, dict) or not _are_ids(tokens):
        raise _not_one("/generate", "it has no meta_info or no output_ids")
    finish = meta.get("finish_reason")
    try:
        counts = counts_of(meta)
    except ValueError as error:
        raise _not_one("/generate", str(error)) from error
    impossible = _impossible(tokens, meta.get("completion_tokens"), counts, vocab_size)
    if impossible:
        raise NoAnswerError(
            f"what /generate said is impossible: {_words(impossible)}",
            hint="no SGLang 0.5.14 to 0.5.23 with this target answers so: what runs at this address?",
        )
    return Answer(
        input_ids,
        tuple(tokens),
        printable(str(finish.get("type") if isinstance(finish, dict) else finish), keep="", limit=40),
        counts,
        cached if isinstance(cached := meta.get("cached_tokens"), int) else 0,
        reply.seconds,
    )


def _impossible(
    tokens: Sequence[int], completion: object, counts: ServedCounts | None, vocab_size: int | None
) -> str:
    """Which of the things that hold for every answer does not, in words, or "".

    The prefill gives a token, and each verify step its correct drafts and one of the target's; the last block
    is cut. Both sides have a block to spare, for a request that was retracted and began again.
    """
    if completion is not None and completion != len(tokens):
        return f"it has {len(tokens)} output_ids, and says {completion} completion_tokens"
    largest = max(tokens, default=0)
    if vocab_size is not None and largest >= vocab_size:
        return f"token {largest} is outside the target's vocabulary of {vocab_size}"
    if counts is None:
        return ""
    given, block = counts.correct_drafts + counts.verify_steps, counts.block
    if given > len(tokens) + block or len(tokens) > 1 + given + block:
        return (
            f"it has {len(tokens)} tokens, and {counts.verify_steps} verify steps with "
            f"{counts.correct_drafts} correct drafts give {given}"
        )
    return ""


def _scored(tokens: tuple[int, ...], reply: Reply) -> tuple[Scored, ...]:
    meta = reply.data.get("meta_info")
    own, top = (
        meta.get(name) if isinstance(meta, dict) else None
        for name in ("input_token_logprobs", "input_top_logprobs")
    )
    if not isinstance(own, list) or not isinstance(top, list) or len(own) != len(top):
        raise _not_one("/generate", "it has no scores of the input")
    if len(own) < len(tokens):
        raise _not_one("/generate", f"it has {len(own)} scores for {len(tokens)} tokens")
    found = []
    try:
        for token, mine, best in zip(tokens, own[-len(tokens) :], top[-len(tokens) :], strict=True):
            # SGLang reports an id at the end of the vocabulary as 0 (logprob_result_processor.py).
            if mine[1] not in (token, 0):
                raise _not_one("/generate", f"it scores token {mine[1]}, and token {token} was asked for")
            found.append(Scored(token, float(mine[0]), max(float(mine[0]), float(best[0][0]))))
    except (TypeError, ValueError, IndexError) as error:
        raise _not_one("/generate", "a score is no number") from error
    return tuple(found)


def _not_one(path: str, why: str) -> NoAnswerError:
    return NoAnswerError(
        f"what {path} said is no answer: {_words(why)}",
        hint="zoo speaks to SGLang 0.5.14 to 0.5.23, and to its own reference engine",
    )


def _are_ids(tokens: object) -> TypeGuard[list[int]]:
    return isinstance(tokens, list) and all(
        isinstance(each, int) and not isinstance(each, bool) and each >= 0 for each in tokens
    )
