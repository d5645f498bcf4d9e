"""Generated conversations of two domains, and the split into training and held-out ones.

``agent`` is a user request, a JSON tool call, a tool result and an answer, for one or two rounds.
``story`` is a user request and a short tale. Everything is drawn from the word lists below with a
seeded generator, so there is no download and no licence to carry.

A conversation is held out when *every* user message of it falls in the held-out part of a hash split,
and is a training one when none does: no held-out request is ever seen in training.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from typing import Literal

Domain = Literal["agent", "story"]
Message = dict[str, str]
Conversation = list[Message]

DOMAINS: tuple[Domain, ...] = ("agent", "story")
HELD_OUT_SEED = 20_001
HELD_OUT_SHARE = 4  # one request in this many is held out

TABLES = ("invoices", "orders", "tickets", "users", "events")
FILTERS = {"status": ("open", "closed", "late"), "plan": ("free", "team", "pro")}
PEOPLE = ("Ada", "Bo", "Chen", "Dora", "Emil")
PATHS = ("src/parser.py", "src/cache.py", "src/server.py", "src/reader.py", "src/index.py")
FAILURES = ("empty_input", "wrong_type", "time_out")

ANIMALS = ("fox", "crow", "bear", "hare", "mouse", "goat")
MOODS = ("brave", "quiet", "tired", "clever", "lonely", "proud")
PLACES = ("forest", "harbour", "valley", "garden", "mountain", "village")
THINGS = ("lantern", "silver key", "map", "red kite", "song", "warm coat")
WEATHER = ("rain", "snow", "wind", "fog")


def call(name: str, **arguments: object) -> str:
    """The text of a tool call, in the form that the chat template gives to an OpenAI-style one."""
    return json.dumps({"name": name, "arguments": arguments})


def list_rows(rng: random.Random) -> Conversation:
    table, column = rng.choice(TABLES), rng.choice(tuple(FILTERS))
    value, limit = rng.choice(FILTERS[column]), rng.choice((5, 10, 20, 50))
    order = rng.choice(("newest", "oldest"))
    rows, row = rng.randint(1, 9), rng.randint(10, 99)
    closing = rng.choice(("Do you want me to export them?", "Shall I send them to someone?"))
    return one_round(
        f"Show {limit} {table} where {column} is {value}, {order} first.",
        call("list_rows", table=table, column=column, value=value, limit=limit, order=order, format="short"),
        {"ok": True, "rows": rows, "first_id": row},
        f"I found {rows} {table} where {column} is {value}. The {order} one has id {row}, "
        f"and all the others are listed in the table below it. {closing}",
    )


def send_message(rng: random.Random) -> Conversation:
    person, table, channel = rng.choice(PEOPLE), rng.choice(TABLES), rng.choice(("email", "chat", "phone"))
    state, number = rng.choice(("ready", "late", "wrong", "empty")), rng.randint(10, 99)
    closing = rng.choice(("I will tell you when there is a reply.", "Do you want me to add a file to it?"))
    return one_round(
        f"Tell {person} by {channel} that the report on {table} is {state}.",
        call("send_message", to=person, channel=channel, text=f"The report on {table} is {state}."),
        {"ok": True, "message_id": number},
        f"I sent the message to {person} by {channel}. It says that the report on {table} is {state}, "
        f"and it has id {number}. {closing}",
    )


def run_tests(rng: random.Random) -> Conversation:
    path, mode, failed = rng.choice(PATHS), rng.choice(("fast", "full", "strict")), rng.choice((0, 1, 2))
    passed, failure, retries = rng.randint(10, 99), f"test_{rng.choice(FAILURES)}", rng.randint(0, 9)
    outcome = f"The first failure is {failure}" if failed else "There is no failure"
    closing = rng.choice(("Do you want me to open the file?", "Shall I send the log to someone?"))
    return one_round(
        f"Run the {mode} tests of {path} with {retries} retries and tell me what fails.",
        call("run_tests", path=path, mode=mode, retries=retries, format="short"),
        {"ok": not failed, "passed": passed, "failed": failed, "first": failure if failed else None},
        f"I ran the {mode} tests of {path}: {passed} tests passed and {failed} tests failed. "
        f"{outcome}. {closing}",
    )


TASKS: tuple[Callable[[random.Random], Conversation], ...] = (list_rows, send_message, run_tests)


def one_round(request: str, tool_call: str, result: dict[str, object], answer: str) -> Conversation:
    roles = ("user", "assistant", "tool", "assistant")
    return [
        {"role": role, "content": text}
        for role, text in zip(roles, (request, tool_call, json.dumps(result), answer), strict=True)
    ]


def tell_story(rng: random.Random) -> Conversation:
    mood, animal, place = rng.choice(MOODS), rng.choice(ANIMALS), rng.choice(PLACES)
    thing, friend, weather = rng.choice(THINGS), rng.choice(ANIMALS), rng.choice(WEATHER)
    middles = (
        f"They walked together until the {weather} stopped, and the {friend} told old jokes all the way.",
        f"The {friend} knew the way home, but the path was long and the {weather} did not stop.",
        f"They shared bread and cheese under a tree, and soon the {weather} was forgotten.",
    )
    endings = (
        f"At last the {animal} came home, hung the {thing} over the door, and was never {mood} alone again.",
        f"In the morning the {animal} gave the {thing} to the {friend}, and they were friends for ever.",
    )
    request = f"Tell me a story about a {mood} {animal} in the {place}, with a {thing}."
    story = (
        f"Once there was a {mood} {animal} who lived in the {place}. One day, in the {weather}, the {animal} "
        f"found a {thing} and met a {friend} on the road. {rng.choice(middles)} {rng.choice(endings)}"
    )
    return [{"role": "user", "content": request}, {"role": "assistant", "content": story}]


def is_held_out(request: str) -> bool:
    """Whether a user message belongs to the held-out part of the split."""
    return hashlib.sha256(request.encode()).digest()[0] % HELD_OUT_SHARE == 0


def draw(make: Callable[[random.Random], Conversation], rng: random.Random, held_out: bool) -> Conversation:
    """One round from `make` whose user message lies in the wanted part of the split."""
    while True:
        messages = make(rng)
        if is_held_out(messages[0]["content"]) == held_out:
            return messages


def conversation(domain: Domain, rng: random.Random, held_out: bool = False) -> Conversation:
    """One whole conversation of `domain`, from the training or the held-out part of the split."""
    if domain == "story":
        return draw(tell_story, rng, held_out)
    return [message for _ in range(rng.randint(1, 2)) for message in draw(rng.choice(TASKS), rng, held_out)]


def training_stream(seed: int, agent_share: float) -> Iterator[Conversation]:
    """Endless training conversations, of which `agent_share` (0 to 1) are of the agent domain."""
    rng = random.Random(seed)
    while True:
        yield conversation("agent" if rng.random() < agent_share else "story", rng)


def held_out_prompts(domain: Domain, count: int, seed: int = HELD_OUT_SEED) -> list[Conversation]:
    """`count` held-out conversations, each cut just before an assistant turn (a tool call or an answer)."""
    rng = random.Random(seed)
    prompts = []
    for _ in range(count):
        messages = conversation(domain, rng, held_out=True)
        cuts = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
        prompts.append(messages[: rng.choice(cuts)])
    return prompts
