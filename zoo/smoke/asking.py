"""What a run asks a server, phase by phase. Each function only asks; what the answers mean, the probes
say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from time import monotonic

from zoo.smoke.client import Answer, Client, NoAnswerError, Reply, RequestRefusedError
from zoo.smoke.expectations import Expected, Tried
from zoo.smoke.served import Refused, Wave

Told = Callable[[int], None]
Ids = Sequence[int]
CONCURRENCIES = (1, 2, 4, 8)
# Prompts of a wave, at most: the same in every wave, so that waves can be compared prompt by prompt.
_IN_A_WAVE = 16
_WARM_UP = 16
_KIND_TOKENS = 16
_CHAT_TOKENS = 512
# More for what may be the first of its kind, and compile its kernels: 117 s were seen (SGLang 0.5.14, top-p
# without a cache); and for a chat of so many tokens.
_FIRST_S = 180.0
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "The name of the city."}},
            "required": ["city"],
        },
    },
}


def _nothing(count: int) -> None:
    """Nobody wants to know."""


def ask(
    client: Client,
    prompts: Iterable[Ids],
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
    ignore_eos: bool = False,
    told: Told = _nothing,
) -> tuple[Answer, ...]:
    """The prompts one after the other, so that each is alone on the server. ``told`` gets the number of
    answers.

    Raises NoAnswerError, RequestRefusedError.
    """
    answers: list[Answer] = []
    for prompt in prompts:
        answers.append(
            client.generate(
                prompt, max_new_tokens=max_new_tokens, temperature=temperature, ignore_eos=ignore_eos
            )
        )
        told(len(answers))
    return tuple(answers)


def ask_together(
    client: Client, prompts: Sequence[Ids], *, max_new_tokens: int, concurrency: int, ignore_eos: bool = False
) -> tuple[Answer | Refused, ...]:
    """The prompts at temperature 0, ``concurrency`` at a time; the answers in the order of the prompts.

    Raises NoAnswerError.
    """

    def one(prompt: Ids) -> Answer | Refused:
        try:
            return client.generate(prompt, max_new_tokens=max_new_tokens, ignore_eos=ignore_eos)
        except RequestRefusedError as error:
            return Refused(error.status, error.said)

    pool = ThreadPoolExecutor(concurrency)
    try:
        return tuple(pool.map(one, prompts))
    finally:
        # Whoever interrupts must not wait for answers: the server is stopped next.
        pool.shutdown(wait=False, cancel_futures=True)


def ask_waves(
    client: Client,
    prompts: Sequence[Ids],
    *,
    max_new_tokens: int,
    most: int,
    ignore_eos: bool = False,
    told: Told = _nothing,
) -> tuple[Wave, ...]:
    """Waves of 1, 2, 4, ... requests at once, up to ``most``.

    The first use of a batch size compiles kernels, so that each wave follows a short one of its own size.
    Raises NoAnswerError.
    """
    asked = tuple(islice(cycle(prompts), max(most, min(len(prompts), _IN_A_WAVE))))
    waves = []
    for concurrency in (each for each in CONCURRENCIES if each <= most):
        warm_up = min(_WARM_UP, max_new_tokens)
        ask_together(
            client, asked[:concurrency], max_new_tokens=warm_up, concurrency=concurrency, ignore_eos=True
        )
        started = monotonic()
        answers = ask_together(
            client, asked, max_new_tokens=max_new_tokens, concurrency=concurrency, ignore_eos=ignore_eos
        )
        waves.append(Wave(concurrency, max_new_tokens, answers, monotonic() - started))
        told(len(waves))
    return tuple(waves)


def ask_kinds(client: Client, prompt: Ids, expected: Iterable[Expected]) -> tuple[Tried, ...]:
    """One short request of each kind."""
    tried = []
    for each in expected:
        body = {
            "input_ids": list(prompt),
            "sampling_params": {
                "temperature": 0,
                "max_new_tokens": _KIND_TOKENS,
                "ignore_eos": True,
                **each.kind.sampling,
            },
            **each.kind.fields,
        }
        try:
            reply = client.post("/generate", body, more_s=_FIRST_S)
        except NoAnswerError as error:
            tried.append(Tried(each, 0, error.message))
        else:
            tried.append(Tried(each, reply.status, reply.said if reply.status != 200 else ""))
    return tuple(tried)


def ask_tools(client: Client) -> Reply:
    """A chat that calls for a tool, which the model may call or not. Raises NoAnswerError."""
    body = {
        "model": "default",
        "messages": [{"role": "user", "content": "What is the weather in Paris? Call the tool to find out."}],
        "tools": [_TOOL],
        "tool_choice": "auto",
        "temperature": 0,
        "max_tokens": _CHAT_TOKENS,
    }
    return client.post("/v1/chat/completions", body, more_s=_FIRST_S)


def ask_long(
    client: Client, prompts: Iterable[Ids], *, context: int, max_new_tokens: int, block: int
) -> Answer | Refused:
    """One prompt that, with its answer and a last block, fills ``context`` tokens: the prompts again and
    again.

    Raises NoAnswerError.
    """
    tokens = cycle(token for prompt in prompts for token in prompt)
    prompt = tuple(islice(tokens, max(1, context - max_new_tokens - block)))
    try:
        return client.generate(prompt, max_new_tokens=max_new_tokens, ignore_eos=True)
    except RequestRefusedError as error:
        return Refused(error.status, error.said)
