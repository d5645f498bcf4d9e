"""T and S: what the gates that a recipe asks for say of the draft, by the evidence beside the recipe.

Whether a record can be read and agrees with itself is K005 and K006. A gate without evidence that counts is
*not checked* and decides nothing here: that the recipe asks for it stops a release (``zoo.release.gates``).
"""

from __future__ import annotations

from collections.abc import Iterator

from zoo.printable import printable
from zoo.results import Finding, Outcome, of_these_bytes
from zoo.rules.registry import rule
from zoo.rules.subject import Subject


@rule("T001", "replay-failed", needs=("recipe", "evidence", "replay"))
def replay_failed(subject: Subject) -> Iterator[Finding]:
    """The replay evidence says that this draft fails.

    What it does: Reads evidence/replay-*.json where the recipe asks for gates.replay. A record made with the
    recipe's settings and for the present facts counts; one of its gates (parity, not-worse, local-optimum,
    negative-controls) has failed. A missing, stale or undecided record is not checked and fails nothing here.
    At header level nobody has compared the bytes, so that a record that passed is not checked either.
    Why is this bad: Over recorded states of its own target the draft had less accepted than it was trained
    to, or a neighbour of its config does better: it would be served so.
    Example: replay-held-out.json: gate/local-optimum failed (all aux layers -1 is better by 25%)
    Use instead: The config that it was trained with, or another checkpoint; then: zoo replay NAME --write
    Since: 0.1.0
    """
    return _failed(subject, "replay", "mend the draft or its config, then: zoo replay NAME --write")


@rule("S001", "smoke-failed", needs=("recipe", "evidence", "smoke"))
def smoke_failed(subject: Subject) -> Iterator[Finding]:
    """The smoke evidence says that this draft fails where it is served.

    What it does: Reads evidence/smoke-*.json where the recipe asks for gates.smoke. A record of the asked
    tier, settings and prompts and for the present facts counts; one of its probes has failed. A missing,
    stale or undecided record is not checked and fails nothing here. At header level nobody has compared the
    bytes, so that a record that passed is not checked either.
    Why is this bad: A server ran this draft and it did not speculate, accepted less than its replay says,
    gave tokens that are not the target's, or did not end.
    Example: smoke-sglang-0.5.14-h200x1.json: gate/replayed failed (accept length 1.84, replayed 2.07)
    Use instead: A draft that serves as it was trained to; then: zoo smoke NAME --write
    Since: 0.1.0
    """
    return _failed(subject, "smoke", "mend the draft or its launch command, then: zoo smoke NAME --write")


def _failed(subject: Subject, kind: str, hint: str) -> Iterator[Finding]:
    """The finding that the gate ``kind`` fails by its evidence."""
    assert subject.recipe is not None
    outcome, reason = subject.gate(kind)
    if outcome is Outcome.FAILED:
        doubt = "" if subject.scan is not None else f"; {of_these_bytes(subject.recipe.name)}"
        message = f"gate {kind} fails: {printable(reason, keep='')}{doubt}"
        yield Finding(message, hint, subject.recipe.where(f"/gates/{kind}"))
