"""The smoke test: one ordered list. Whatever ends it, the server is gone, and the copy of the draft."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from time import monotonic

from zoo.smoke import phases
from zoo.smoke.context import Plan, Smoke
from zoo.smoke.record import now


@dataclass(frozen=True, slots=True)
class Step:
    """What a person is told: a name for a log, and what is done."""

    name: str
    about: str


@dataclass(frozen=True, slots=True)
class Phase(Step):
    """``of_draft``: it asks about more than a control, a draft that is broken on purpose, must be asked."""

    run: Callable[[Smoke], None]
    of_draft: bool = False


# Before the phases, and once for all copies of the draft (zoo.smoke.verified).
VERIFY = Step("verify", "compare the draft with its recipe")

PHASES: tuple[Phase, ...] = (
    # The cheapest first: the GPUs that the profile asks for, free, with a driver.
    Phase("preflight", "look at the machine", phases.preflight),
    # What is served is a copy: allowed config keys and declared weights.
    Phase("copy", "copy the draft", phases.copy),
    # From the command to the first token, with limits of its own.
    Phase("start", "start the server", phases.start),
    # Temperature 0 decides; the same prompts one after the other, so that counts repeat.
    Phase("greedy", "ask at temperature 0", phases.greedy),
    Phase("sampled", "ask at temperature 1", phases.sampled),
    # What the engine refuses beside a draft, and whether tool calls come out as such.
    Phase("requests", "ask other kinds of requests", phases.requests, of_draft=True),
    # 1, 2, 4, 8 at once; then what a GPU has left.
    Phase("concurrency", "ask several at once", phases.concurrency, of_draft=True),
    Phase("long-context", "ask with a long prompt", phases.long_context, of_draft=True),
    # SIGTERM, and nothing may stay: process, port, GPU memory.
    Phase("stop", "stop the server", phases.stop),
    # A second server without the draft scores the served tokens.
    Phase("target", "score the tokens with the target alone", phases.target, of_draft=True),
    # With the GPU free again: the draft over the very tokens that were served.
    Phase("replay", "replay what was served", phases.replay),
    # Only now is anything judged.
    Phase("judge", "judge", phases.judge),
)


def run(plan: Plan, tell: Callable[[Step, str], None]) -> Smoke:
    """Run all phases in order. ``tell`` hears what the present phase does, and "" when it begins.

    Raises:
        ServerFailedError: the server did not become ready, or died; its message has the cause.
        ZooError: something else stopped the run.
    """
    with ExitStack() as stack:
        smoke = Smoke(plan, lambda text: None, now(), stack)
        for phase in PHASES:
            if phase.of_draft and plan.control:
                continue
            begun = monotonic()
            tell(phase, "")
            smoke.told = partial(tell, phase)
            phase.run(smoke)
            smoke.seconds[phase.name] = monotonic() - begun
        return smoke
