"""What a probe that passed has found, in a few words; a card and the command say the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zoo.evidence import GATE, Result
from zoo.smoke.settings import (
    ACCEPT_LENGTH,
    BLOCK,
    CONCURRENCY,
    LOADED,
    LONG_CONTEXT,
    LOSSLESS,
    MEMORY,
    PREFLIGHT,
    READY,
    REPETITION,
    REPLAYED,
    REQUESTS,
    SHUTDOWN,
    SPECULATING,
)

TITLES = {
    PREFLIGHT: "The hardware of the profile, free",
    READY: "The server starts",
    LOADED: "It runs this draft",
    BLOCK: "Native block size",
    SPECULATING: "It speculates, counts agree",
    ACCEPT_LENGTH: "The draft is alive",
    REPETITION: "The text is no loop",
    REQUESTS: "Requests refused and served as declared",
    "parsers": "Tool calls and reasoning",
    CONCURRENCY: "Several requests at once",
    LONG_CONTEXT: "Long context",
    MEMORY: "Memory head-room",
    "log": "No known trouble in the log",
    SHUTDOWN: "It stops, nothing stays",
    REPLAYED: "Served = replayed",
    LOSSLESS: "Every token is the target's",
}
Measured = Mapping[str, Any]


def found(result: Result) -> str:
    """The reason of a result or, if it has none, what it measured; "" where nobody has words for that."""
    if result.reason:
        return result.reason
    said = _SAID.get(result.check.removeprefix(GATE))
    try:
        return said(result.measured) if said is not None else ""
    except (KeyError, TypeError, ValueError):  # a record of another version, or by somebody else's hand
        return ""


def waves(measured: Measured) -> dict[int, dict[str, Any]]:
    """Concurrency -> what was measured there, of the keys ``c1/accept_length``."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in measured.items():
        at, _, name = key.partition("/")
        if name and at[:1] == "c" and at[1:].isdigit():
            found.setdefault(int(at[1:]), {})[name] = value
    return dict(sorted(found.items()))


def _refused(said: Measured) -> str:
    refused = [kind for kind, status in said.items() if status == 400]
    return f"refused (HTTP 400): {', '.join(refused)}" if refused else "nothing is refused"


def _waves(said: Measured) -> str:
    return "; ".join(f"{at}: accept length {each['accept_length']:.2f}" for at, each in waves(said).items())


_SAID: Mapping[str, Callable[[Measured], str]] = {
    PREFLIGHT: lambda said: f"{said['gpus']} GPU{'' if said['gpus'] == 1 else 's'}",
    READY: lambda said: f"{said['engine']} {said['version']} after {said['seconds']:.0f} s",
    LOADED: lambda said: (
        f"{said['speculative_algorithm']}, {said['speculative_num_draft_tokens']} tokens a block"
    ),
    BLOCK: lambda said: (
        f"{said['proposed_per_step']:g} tokens proposed a step, up to {said['longest_accepted']} accepted"
    ),
    SPECULATING: lambda said: f"{said['with_counts']} of {said['requests']} requests have counts",
    ACCEPT_LENGTH: lambda said: (
        f"accept length {said['accept_length']:.2f} at temperature 0: {said['correct_drafts']:,} correct "
        f"drafts in {said['verify_steps']:,} verify steps"
    ),
    REPETITION: lambda said: f"{said['looping']} of {said['answers']} answers repeat themselves",
    REQUESTS: _refused,
    CONCURRENCY: _waves,
    LONG_CONTEXT: lambda said: f"{said['prompt_tokens']:,} tokens",
    MEMORY: lambda said: f"{min(said['free_gib']):.1f} GiB free",
    SHUTDOWN: lambda said: f"{said['seconds']:.0f} s",
    REPLAYED: lambda said: (
        f"accept length {said['accept_length']:.3f} served, {said['replayed_accept_length']:.3f} "
        "replayed over the same tokens"
    ),
    LOSSLESS: lambda said: (
        f"{said['tokens']:,} tokens, none more than {said['largest_gap']:.2f} nat below the target's best "
        f"(tolerance {said['tolerance']:.2f})"
    ),
}
