"""The probes: what a served draft must show. Each is one pure function of what was served
(:class:`zoo.smoke.served.Served`), and gives passed, failed or not checked with the reason.

A broken draft boots, answers 200 and gives correct text: only counts show it. ``preflight``, ``ready`` and
``shutdown`` judge the run around the requests; their modules make the result from what the run knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zoo.evidence import Result
from zoo.smoke.probes import (
    accept_length,
    block_size,
    concurrency,
    draft_loaded,
    log,
    long_context,
    lossless,
    memory,
    parsers,
    repetition,
    replayed,
    requests,
    speculating,
)
from zoo.smoke.served import Served
from zoo.smoke.settings import (
    ACCEPT_LENGTH,
    BLOCK,
    CONCURRENCY,
    LOADED,
    LOG,
    LONG_CONTEXT,
    LOSSLESS,
    MEMORY,
    PARSERS,
    REPETITION,
    REPLAYED,
    REQUESTS,
    SPECULATING,
)


@dataclass(frozen=True, slots=True)
class Probe:
    """``judge`` names its result ``name``."""

    name: str
    judge: Callable[[Served], Result]


# In the order of zoo.smoke.settings.NAMES.
PROBES: tuple[Probe, ...] = (
    Probe(LOADED, draft_loaded.judge),  # the server resolved the draft as the recipe says
    Probe(BLOCK, block_size.judge),  # as many proposals a step as the draft was trained for
    Probe(SPECULATING, speculating.judge),  # it speculates at all, and its counts add up
    Probe(ACCEPT_LENGTH, accept_length.judge),  # the draft is not dead
    Probe(REPETITION, repetition.judge),  # the accept length is not that of looping text
    Probe(REQUESTS, requests.judge),  # kinds of requests: refused and served as declared
    Probe(PARSERS, parsers.judge),  # tool calls and reasoning come out as such
    Probe(CONCURRENCY, concurrency.judge),  # 1 to 8 at once, with the accept length of one
    Probe(LONG_CONTEXT, long_context.judge),  # a prompt that fills the context
    Probe(MEMORY, memory.judge),  # head-room on every GPU
    Probe(LOG, log.judge),  # no message that means trouble
    Probe(REPLAYED, replayed.judge),  # what is accepted is what a replay says must be
    Probe(LOSSLESS, lossless.judge),  # every token is one that the target would give
)
