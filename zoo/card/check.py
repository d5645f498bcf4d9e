"""Whether the committed card is the one that recipe, evidence and template give."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from zoo.card.render import card_path, render_card
from zoo.card.standing import Standing, read_standing
from zoo.credentials import without_shapes
from zoo.digests import sha256_hex
from zoo.errors import CardDriftError
from zoo.evidence import Evidence, RefusedEvidenceError, bound_to, load_evidence
from zoo.printable import printable
from zoo.recipe.model import Recipe
from zoo.release.paths import read
from zoo.workspace import Zoo

_DIFF_LINES = 40


class CardDiffersError(CardDriftError):
    """``line`` (from 1) is the first one of the committed card that differs; None without a card."""

    def __init__(self, message: str, *, hint: str, line: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.line = line


def check_card(
    zoo: Zoo, recipe: Recipe, standing: Standing | None = None, checkpoint_digest: str | None = None
) -> str:
    """Compare the committed card: that of a published version with what was published, any other with what
    renders today. ``checkpoint_digest``: of the bytes that are to be released, where it is known; where it is
    not, nobody can say which records are about these bytes, and the card may say so of any of them. Returns
    what it is, in words.

    Raises:
        CardDiffersError: it is another one, or there is none.
        TemplateError, RefusedEvidenceError: nothing can be rendered.
        ReleaseRefusedError, UnreadableError: the record of the release is not what was published.
    """
    standing = standing or read_standing(zoo, recipe)
    if standing.card_sha256 is not None:
        _check_frozen(zoo, recipe, standing.card_sha256)
        return "the card that was published"
    evidence = usable_evidence(zoo, recipe, standing, checkpoint_digest)
    text = render_card(zoo, recipe, evidence, standing)
    committed = read(zoo, card_path(zoo, recipe))
    if committed is not None and committed != text.encode() and checkpoint_digest is None:
        others = (render_card(zoo, recipe, each, standing) for each in _of_some_bytes(evidence))
        text = next((other for other in others if committed == other.encode()), text)
    _check(zoo, recipe, text)
    return "up to date"


def usable_evidence(
    zoo: Zoo, recipe: Recipe, standing: Standing, checkpoint_digest: str | None = None
) -> tuple[Evidence, ...]:
    """The evidence of a card; ``checkpoint_digest``: of the bytes of a version that is not published yet.

    Raises RefusedEvidenceError: a file of it is no record.
    """
    evidence, findings = load_evidence(zoo, recipe, standing.checkpoint_digest)
    if findings:
        raise RefusedEvidenceError(findings)
    if standing.checkpoint_digest is None and checkpoint_digest is not None:
        return bound_to(evidence, checkpoint_digest)
    return evidence


def _of_some_bytes(evidence: tuple[Evidence, ...]) -> Iterator[tuple[Evidence, ...]]:
    """``evidence`` as it would be for the bytes of each record, and for those of none."""
    for digest in sorted({each.checkpoint_digest for each in evidence} | {""}):
        yield bound_to(evidence, digest)


def _check_frozen(zoo: Zoo, recipe: Recipe, sha256: str) -> None:
    """A published card is compared by its digest: a newer template must not make an old release fail."""
    path = card_path(zoo, recipe)
    committed = read(zoo, path)
    if committed is None or sha256_hex(committed) != sha256:
        raise CardDiffersError(
            f"{zoo.shown(path)}: not the card that was published",
            hint="restore it from git; the card of a published version does not change",
        )


def _check(zoo: Zoo, recipe: Recipe, text: str) -> None:
    path, hint = card_path(zoo, recipe), f"run: zoo card {recipe.name}"
    committed = read(zoo, path)
    if committed is None:
        raise CardDiffersError(f"{zoo.shown(path)}: there is no card yet", hint=hint)
    if committed == text.encode():
        return
    # Before it is taken apart: a private key has many lines.
    old = without_shapes(committed.decode(errors="backslashreplace")).split("\n")
    new = text.split("\n")
    lines = list(difflib.unified_diff(old, new, "committed", "rendered", n=1, lineterm=""))
    if len(lines) > _DIFF_LINES:
        lines = [*lines[:_DIFF_LINES], f"... and {len(lines) - _DIFF_LINES} more lines"]
    shown = "\n".join(printable(line, keep="", limit=200) for line in lines)
    pairs = enumerate(zip(old, new, strict=False), 1)
    first = next((number for number, (one, other) in pairs if one != other), None)
    raise CardDiffersError(
        f"{zoo.shown(path)}: differs from what recipe and evidence say\n{shown}",
        hint=hint,
        line=first or min(len(old), len(new)),
    )
