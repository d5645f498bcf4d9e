"""The committed card of an affected recipe (K001)."""

from __future__ import annotations

from collections.abc import Set
from itertools import takewhile

from zoo.card.check import CardDiffersError, check_card
from zoo.card.render import card_path
from zoo.errors import ReleaseRefusedError, TemplateError, UnreadableError
from zoo.evidence import RefusedEvidenceError
from zoo.printable import printable, quoted
from zoo.recipe.model import Recipe
from zoo.results import Finding, Where
from zoo.rules import Absent
from zoo.trust.library import MissingLibraryError
from zoo.workspace import Zoo

# Of a long line: how much is shown before the place where two differ, and in all.
_BEFORE, _SHOWN = 30, 100


def card_findings(
    zoo: Zoo, recipe: Recipe, frozen: Set[str], checkpoint_digest: str | None = None
) -> tuple[list[Finding], Absent | None]:
    """K001, and why it was not checked. ``frozen``: changed files of published versions, which V003 names;
    ``checkpoint_digest``: of the draft, where it is known."""
    path = zoo.shown(card_path(zoo, recipe))
    if path in frozen:
        return [], Absent("the card is one of a published version (V003)", required=False)
    try:
        check_card(zoo, recipe, checkpoint_digest=checkpoint_digest)
    except RefusedEvidenceError as error:
        return [], Absent(f"{error.message} (K005, K006)", required=False)
    except CardDiffersError as error:
        message, _, shown = error.message.partition("\n")
        place = Where(path, error.line, 1 if error.line else None)
        return [Finding(message + _first_lines(shown), error.hint, place, code="K001")], None
    except TemplateError as error:
        message = printable(error.message, keep="")
        return [Finding(message, error.hint, Where("templates/card.md.j2"), code="K001")], None
    except MissingLibraryError as error:  # the card says who signed its records
        return [], Absent(f"{error.message}; {error.hint}")
    except (ReleaseRefusedError, UnreadableError) as error:
        return [], Absent(printable(error.message, keep=""), required=False)
    return [], None


def _first_lines(diff: str) -> str:
    """Of the first place where two texts differ, by their unified diff: the first line that is gone and the
    first one that is new, from shortly before the character where these differ."""
    lines = list(takewhile(lambda line: not line.startswith("@@"), diff.split("\n")[3:]))
    old, new = (_first(lines, sign) for sign in "-+")
    if old is not None and new is not None:
        same = next((at for at, pair in enumerate(zip(old, new, strict=False)) if len({*pair}) > 1), 0)
        if same > _BEFORE:
            old, new = (f"…{line[same - _BEFORE :]}" for line in (old, new))
    said = [f"it says {quoted(old, _SHOWN)}"] if old is not None else []
    said += [f"it renders as {quoted(new, _SHOWN)}"] if new is not None else []
    return f": {', and '.join(said)}" if said else ""


def _first(lines: list[str], sign: str) -> str | None:
    """The first line with this sign, one that holds something if there is any."""
    found = [line[1:] for line in lines if line.startswith(sign)]
    return next((line for line in found if line.strip()), found[0] if found else None)
