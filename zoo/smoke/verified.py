"""Before anything is served: is this the draft that its recipe describes?

A server and a replay read the same checkpoint, so that they agree on whatever is wrong with it: other aux
layers, another rope, a layer of zeros. Only the recipe can say so. This is ``zoo verify NAME --checkpoint S
--deep``, and its pass over every byte also gives the digest that the record is bound to.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from zoo.errors import UnreadableError, ZooError
from zoo.printable import printable
from zoo.recipe.model import UNKNOWN, Recipe
from zoo.results import Finding, Severity

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint
    from zoo.sources import Sources
    from zoo.workspace import Zoo


class ContradictsRecipeError(ZooError):
    """The draft is not what its recipe says, or its bytes are no weights that anybody trained."""

    exit_status = 1


def verified(zoo: Zoo, recipe: Recipe, named: str | None, sources: Sources) -> tuple[Checkpoint, str]:
    """The checkpoint (``named``, else the recipe's own source) and its checkpoint digest.

    What the evidence of the recipe says does not count: a new record may replace it.

    Raises:
        UnreadableError: it cannot be opened, or not read to the end.
        ContradictsRecipeError: the verification has a finding that is an error.
    """
    from zoo.checkpoint.cache import user_cache
    from zoo.checkpoint.scan import DeepPass
    from zoo.rules import Level
    from zoo.verify import verify_recipe

    if named is None and recipe.checkpoint.source == UNKNOWN:
        raise UnreadableError("the recipe's source is unknown", hint="add --checkpoint FOLDER")
    how = DeepPass(cache=user_cache())
    made = verify_recipe(zoo, recipe.name, checkpoint=named, level=Level.DEEP, deep=how, sources=sources)
    subject = made.subject
    if subject.checkpoint is None or subject.scan is None:
        raise UnreadableError(
            f"the draft cannot be read: {subject.missing['checkpoint'].reason}",
            hint=_command(recipe, named),
        )
    errors = [each for each in made.report.findings if _counts(each)]
    if errors:
        raise ContradictsRecipeError(_message(recipe, errors), hint=_command(recipe, named))
    from zoo.digests import engine_digest

    return subject.checkpoint, engine_digest(recipe, subject.scan.files.values())


def _counts(finding: Finding) -> bool:
    """Whether it is an error about the draft, and not about the evidence that lies beside the recipe."""
    from zoo.rules.registry import RULES

    return finding.severity is Severity.ERROR and "evidence" not in RULES[finding.code].needs


def _message(recipe: Recipe, errors: list[Finding]) -> str:
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    first = f"{errors[0].code} {printable(errors[0].message, keep='')}"
    return f"{recipe.name} contradicts its recipe: {first}{more}; nothing was served"


def _command(recipe: Recipe, named: str | None) -> str:
    checkpoint = "" if named is None else f" --checkpoint {shlex.quote(named)}"
    return f"zoo verify {recipe.name}{checkpoint} --deep"
