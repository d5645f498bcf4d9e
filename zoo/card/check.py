"""Whether the committed card is the one that recipe, evidence and template give."""

from __future__ import annotations

import difflib

from zoo.card.render import card_path, render_card
from zoo.card.standing import Standing, read_standing
from zoo.credentials import without_shapes
from zoo.digests import sha256_hex
from zoo.errors import CardDriftError
from zoo.evidence import Evidence, RefusedEvidenceError, load_evidence
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


def check_card(zoo: Zoo, recipe: Recipe, standing: Standing | None = None) -> str:
    """Compare the committed card: that of a published version with what was published, any other with what
    renders today. Returns what it is, in words.

    Raises:
        CardDiffersError: it is another one, or there is none.
        TemplateError, RefusedEvidenceError: nothing can be rendered.
        ReleaseRefusedError, UnreadableError: the record of the release is not what was published.
    """
    standing = standing or read_standing(zoo, recipe)
    if standing.card_sha256 is not None:
        _check_frozen(zoo, recipe, standing.card_sha256)
        return "the card that was published"
    _check(zoo, recipe, render_card(zoo, recipe, usable_evidence(zoo, recipe, standing), standing))
    return "up to date"


def usable_evidence(zoo: Zoo, recipe: Recipe, standing: Standing) -> tuple[Evidence, ...]:
    """The evidence of a card.

    Raises RefusedEvidenceError: a file of it is no record.
    """
    evidence, findings = load_evidence(zoo, recipe, standing.checkpoint_digest)
    if findings:
        raise RefusedEvidenceError(findings)
    return evidence


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
