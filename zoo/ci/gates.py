"""The gates that a recipe asks for and nothing answers yet (V016): this can be merged, and not released."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.evidence import Evidence
from zoo.printable import printable
from zoo.recipe.model import Recipe
from zoo.release.gates import of_evidence
from zoo.results import Finding, Outcome
from zoo.rules import Absent

_ASKED = ("replay", "smoke")


def unanswered(
    recipe: Recipe, evidence: Iterable[Evidence], digest: str | None
) -> tuple[list[Finding], Absent | None]:
    """V016, and why it could not be asked. ``evidence``: what counts and what does not, bound to the bytes
    where their ``digest`` is known. A gate that fails is T001 or S001."""
    records = tuple(evidence)
    found: list[Finding] = []
    missing = None
    for gate in _ASKED:
        if gate not in recipe.gates:
            continue
        outcome, reason = of_evidence(gate, records, recipe)
        hidden = next((each for each in records if each.kind == gate and each.unseen), None)
        if outcome is Outcome.NOT_CHECKED and hidden is not None:
            missing = Absent(f"{hidden.name}: {hidden.stale}")
        elif outcome is Outcome.NOT_CHECKED:
            message = (
                f"the recipe asks for {gate}, and no evidence of these weights answers it "
                f"({printable(reason, keep='')}); a release will be refused"
            )
            hint = f"run it: zoo {gate} {recipe.name} --write, or the job that measures (docs/ci.md)"
            found.append(Finding(message, hint, recipe.where(f"/gates/{gate}"), code="V016"))
        elif outcome is Outcome.PASSED and digest is None and missing is None:
            reason = f"{gate} passed; whether with these weights is not known without reading them"
            missing = Absent(reason, required=False)
    return found, missing
