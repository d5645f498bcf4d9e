"""A running server, asked in a minute: is this the draft, and is it alive?

    with Client("http://127.0.0.1:30000") as client:
        for result in ask_running(client, recipe, profile, settings, prompts): ...

For monitoring: a few short greedy requests, each with its own counts, so that other traffic does not matter.
No cache is flushed, no setting is changed, and nothing is asked that a server may refuse. What needs the
server's log, a second server or a load is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from packaging.version import InvalidVersion, Version

from zoo.evidence import Result
from zoo.recipe.model import Profile, Recipe
from zoo.smoke.asking import ask
from zoo.smoke.client import Answer, Client, NoAnswerError
from zoo.smoke.probes import accept_length, block_size, draft_loaded, ready, repetition, speculating
from zoo.smoke.served import Absent, Served
from zoo.smoke.settings import REFERENCE, SmokeSettings

# At most: a draft that is alive at an accept length of 2 takes some 250 verify steps for this.
_PROMPTS, _TOKENS = 8, 64
# After so many seconds no further prompt is begun: a busy server must not be asked for longer.
_SECONDS = 40.0
_NO_LOG = Absent("a running server's log is not here")


def ask_running(
    client: Client,
    recipe: Recipe,
    profile: Profile,
    settings: SmokeSettings,
    prompts: Sequence[Sequence[int]],
    told: Callable[[int], None] = lambda count: None,
) -> tuple[Result, ...]:
    """The results of the probes that a running server can be asked for. ``prompts`` are token ids. Draft and
    release are known by their names only: another name is not checked.

    Raises NoAnswerError, RequestRefusedError.
    """
    started = monotonic()
    info = client.server_info()
    engine, version = engine_of(info)
    seconds = monotonic() - started
    answers: list[Answer] = []
    for prompt in prompts[:_PROMPTS]:
        if monotonic() - started > _SECONDS:
            break
        answers += ask(
            client,
            [prompt],
            max_new_tokens=min(_TOKENS, settings.max_new_tokens),
            ignore_eos=settings.ignore_eos,
        )
        told(len(answers))
    served = Served(
        recipe,
        profile,
        settings,
        engine,
        version,
        info=info,
        log=_NO_LOG,
        prompts=tuple(tuple(prompt) for prompt in prompts),
        greedy=tuple(answers),
    )
    probes = (draft_loaded, block_size, speculating, accept_length, repetition)
    judged = tuple(probe.judge(served) for probe in probes)
    return (ready.result(profile, engine, str(version), seconds), *judged)


def engine_of(info: Mapping[str, Any]) -> tuple[str, Version]:
    """What runs, by its own word in /server_info: ``reference`` or ``sglang``, and its version.

    Raises:
        NoAnswerError: it does not say a version.
    """
    try:
        version = Version(str(info.get("version")))
    except InvalidVersion as error:
        raise NoAnswerError(
            "the server does not say its version in /server_info",
            hint="zoo smoke asks SGLang 0.5.14 to 0.5.23, and its own reference engine",
        ) from error
    return (REFERENCE if info.get("engine") == REFERENCE else "sglang"), version
