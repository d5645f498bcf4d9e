"""One hazard: its conditions, and what the card and the rules say of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from zoo.engines.judge import expanded
from zoo.engines.launch import Argument, arguments
from zoo.engines.vllm import speculation
from zoo.recipe.model import ModelRef, Profile, Recipe

ENGINE_NAMES = {"sglang": "SGLang", "vllm": "vLLM"}


@dataclass(frozen=True)
class Hazard:
    """A consequence of engine versions. ``card`` is its text on the card, in Markdown; ``advice`` what to
    do; ``beside`` other engines of which it is true, with their versions. ``by_command`` is ``applies`` where
    no recipe is known: whether the arguments alone, names in full, speak for it; None where they cannot."""

    code: str
    name: str
    engine: str
    versions: SpecifierSet
    applies: Callable[[Recipe, Profile], bool]
    card: str
    advice: str
    source: str
    beside: Mapping[str, SpecifierSet] = field(default_factory=dict)
    by_command: Callable[[list[str]], bool] | None = None

    @property
    def range(self) -> str:
        """The engine versions in words: ``SGLang <0.5.16``."""
        engines = {self.engine: self.versions, **self.beside}.items()
        return "; ".join(
            ENGINE_NAMES[engine] + (f" {versions}" if str(versions) else ", all versions")
            for engine, versions in engines
        )

    def holds(self, engine: str, version: Version) -> bool:
        """Whether this version of the engine is one of those that it is about."""
        versions = {self.engine: self.versions, **self.beside}.get(engine)
        return versions is not None and versions.contains(version, prereleases=True)

    def threatens(self, recipe: Recipe | None, profile: Profile) -> bool:
        """Whether its conditions are there: the engine, the version and the rest."""
        return self.holds(profile.engine, profile.version) and self.fits(recipe, profile)

    def fits(self, recipe: Recipe | None, profile: Profile) -> bool:
        """Whether its conditions are there, whatever the version; without a recipe, by the command alone."""
        if recipe is not None:
            return self.applies(recipe, profile)
        return self.by_command is not None and self.by_command(profile_argv(None, profile))


def profile_argv(recipe: Recipe | None, profile: Profile) -> list[str]:
    """The command of ``profile`` for the published draft, before a version is pinned, with every flag under
    its full name; without a recipe, as the profile writes it."""
    program = shlex.split(profile.command)
    said = [each.text for each in profile_arguments(recipe, profile)]
    return program + [
        text for text, _ in expanded(profile.engine, str(profile.version), program, tuple(said))
    ]


def profile_arguments(recipe: Recipe | None, profile: Profile) -> list[Argument]:
    """The words after the program of that command, as they are written."""
    if recipe is None:
        return list(arguments(profile, target=ModelRef("{target}"), draft=ModelRef("{draft}")))
    return list(
        arguments(
            profile,
            target=recipe.target.served,
            draft=ModelRef(recipe.repo),
            speculation=speculation(recipe),
        )
    )
