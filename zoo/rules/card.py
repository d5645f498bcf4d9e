"""K: the card's claims, its metadata and the evidence beside it.

Whether the committed card is the one that recipe and evidence give needs the template engine: K001
(``zoo.rules.change``) is found by ``zoo ci``, and ``zoo card NAME --check`` says the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from zoo.printable import printable
from zoo.results import Finding
from zoo.rules.registry import reported, rule
from zoo.rules.subject import Subject

if TYPE_CHECKING:
    from zoo.recipe.model import Recipe


@rule("K002", "claim-contradicted", needs=("recipe", "evidence", "claimed"))
def claim_contradicts_evidence(subject: Subject) -> Iterator[Finding]:
    """A measured claim differs from what its evidence measured.

    What it does: Compares the value with the one of the same name in the evidence, within rounding of the
    claim's digits, for the results whose conditions are the claim's. A range must hold every measured value
    and be at most 20% wide.
    Why is this bad: A number on the card that no run gave.
    Example: {metric: accept_length, value: 2.9, source: measured, evidence: reference-held-out}, where it
    measured 2.47
    Use instead: value: 2.47
    Since: 0.1.0
    """
    return _failing(subject, "K002", "write the measured value, or measure again")


@rule("K003", "card-metadata", needs=("recipe",))
def card_metadata(subject: Subject) -> Iterator[Finding]:
    """The card's metadata is not what the Hub accepts.

    What it does: Derives the metadata (licence, library_name, base_model, tags) from the recipe and holds it
    against the schema card-metadata-1. Needs no network.
    Why is this bad: The Hub refuses the commit, or indexes the draft as something that it is not.
    Example: license: {id: other}
    Use instead: license: {id: other, name: my-licence, link: https://example.org/licence}
    Sources: huggingface/hub-docs, modelcard.md and docs/hub/repositories-licenses.md
    Since: 0.1.0
    """
    from zoo.card.metadata import metadata, problems

    recipe = _recipe(subject)
    for problem in problems(metadata(recipe)):
        key = problem.partition(":")[0].partition("[")[0]
        pointer = {"tags": "/tags", "base_model": "/base/repo"}.get(key, "/license")
        yield Finding(f"card metadata, {problem}", f"mend {pointer[1:]} in the recipe", recipe.where(pointer))


@rule("K004", "claim-without-evidence", needs=("recipe", "evidence", "claimed"))
def claim_without_evidence(subject: Subject) -> Iterator[Finding]:
    """A measured claim has no evidence that counts.

    What it does: Looks up the evidence that each measured claim names: it must be there, be made for this
    checkpoint and for the present recipe, have passed, measure what is claimed, and state every condition of
    the claim (at) itself.
    Why is this bad: The number may be that of other weights. The card prints it as not counted.
    Example: {metric: accept_length, value: 2.47, source: measured, evidence: reference-old}
    Use instead: Evidence for this checkpoint, or source: reported
    Since: 0.1.0
    """
    hint = "record the evidence again, copy it from a version with these weights, or write source: reported"
    return _failing(subject, "K004", hint)


@reported("K005", "evidence-unreadable", needs=("recipe", "evidence"))
def evidence_unreadable() -> None:
    """A file in evidence/ is not a record.

    What it does: Reads every evidence/*.json strictly: its name, its size, no duplicate keys, no NaN, the
    schema evidence-1, no absolute paths and no tokens.
    Why is this bad: A record that two readers understand differently proves nothing.
    Example: evidence/replay-held-out.json with the key "results" twice
    Use instead: The record as the check wrote it
    Since: 0.1.0
    """


@reported("K006", "evidence-impossible", needs=("recipe", "evidence"))
def evidence_impossible() -> None:
    """A record contradicts itself.

    What it does: Checks that verify steps are the sum of the accept histogram, correct drafts its weighted
    sum, accept length 1 + correct / steps, the histogram as long as the block, and the end after the start.
    Of a smoke test also that its gates follow from what was served, within the margins of its settings, and
    that engine, arguments and block size are those of the profile and the recipe.
    Why is this bad: No run can have given these numbers.
    Example: accept_histogram [5, 3], verify_steps 10
    Use instead: The record as the check wrote it
    Since: 0.1.0
    """


def _failing(subject: Subject, code: str, hint: str) -> Iterator[Finding]:
    recipe = _recipe(subject)
    if not any(claim.source == "measured" for claim in recipe.claims):
        return
    from zoo.card.claims import contradictions
    from zoo.evidence import UNSIGNED, file_of

    for index, verdict in contradictions(recipe.claims, subject.evidence or (), code):
        if verdict.record is not None and verdict.record.unseen:  # a gap of "claimed"
            continue
        advice = hint
        if verdict.record is not None and verdict.record.stale == UNSIGNED:
            advice = f"sign it: zoo sign {file_of(recipe, verdict.record.name)} --key KEY"
        yield Finding(printable(verdict.problem, keep=""), advice, recipe.where(f"/claims/{index}"))


def _recipe(subject: Subject) -> Recipe:
    assert subject.recipe is not None
    return subject.recipe
