"""What a replay must show: ``gates.replay`` of a recipe, with its defaults. No torch here: a card and a
release read it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from zoo.recipe.model import UNKNOWN, Recipe

PARITY, NOT_WORSE, OPTIMUM, CONTROLS = "parity", "not-worse", "local-optimum", "negative-controls"
GATES = (PARITY, NOT_WORSE, OPTIMUM, CONTROLS)


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Margins and shares are parts of accept length - 1, of the draft as it is declared.

    ``trace``: the one trace that answers the gate, "" for any. ``require``: the gates that must pass.
    ``parity_margin``: how far below the training run's own number replay may be. ``worse_margin``: how much
    worse than base or previous release. ``optimum_margin``: by how much a neighbour must be better to count.
    ``control_share``: below which share a negative control has collapsed. ``alpha``: the chance of a wrong
    alarm that each test allows. ``conversations``: fewer than so many prove nothing.
    """

    trace: str = ""
    require: tuple[str, ...] = (OPTIMUM, CONTROLS)
    parity_margin: float = 0.1
    worse_margin: float = 0.05
    optimum_margin: float = 0.02
    control_share: float = 0.5
    alpha: float = 0.05
    conversations: int = 8

    def as_json(self) -> dict[str, Any]:
        """As the settings of a record, which are text and numbers; its subject is the trace."""
        stated = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "trace"}
        return stated | {"require": " ".join(self.require)}


def settings_of(recipe: Recipe | None) -> ReplaySettings:
    """The settings of a recipe; None: the defaults.

    Where the recipe does not say ``require``, it needs every gate for which it names something to compare
    with: parity with a training manifest, and being not worse than a base.
    """
    if recipe is None:
        return ReplaySettings()
    stated: Mapping[str, Any] = recipe.gates.get("replay", {})
    required = stated.get("require")
    if required is None:
        required = [PARITY] if recipe.training.manifest != UNKNOWN else []
        required += [NOT_WORSE] if recipe.base is not None and recipe.base.repo != UNKNOWN else []
        required += [OPTIMUM, CONTROLS]
    return ReplaySettings(**{**stated, "require": tuple(each for each in GATES if each in required)})


def other_settings(recipe: Recipe, subject: str, settings: Mapping[str, Any]) -> str:
    """Why a record made with ``settings`` on the trace ``subject`` does not answer the recipe, or ""."""
    asked = settings_of(recipe)
    if asked.trace and asked.trace != subject:
        return f"it ran on trace {subject}, and the recipe asks for {asked.trace}"
    wrong = [key for key, value in asked.as_json().items() if settings.get(key) != value]
    return f"the recipe asks for another {', '.join(wrong)}" if wrong else ""
