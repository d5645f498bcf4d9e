"""One hazard: its conditions, and what the card and the rules say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet

from zoo.engines.launch import launch_argv
from zoo.recipe.model import ModelRef, Profile, Recipe

ENGINE_NAMES = {"sglang": "SGLang", "vllm": "vLLM"}


@dataclass(frozen=True)
class Hazard:
    """A consequence of engine versions. ``card`` is its text on the card, in Markdown; ``advice`` what to
    do; ``beside`` other engines of which it is true, with their versions."""

    code: str
    name: str
    engine: str
    versions: SpecifierSet
    applies: Callable[[Recipe, Profile], bool]
    card: str
    advice: str
    source: str
    beside: Mapping[str, SpecifierSet] = field(default_factory=dict)

    @property
    def range(self) -> str:
        """The engine versions in words: ``SGLang <0.5.16``."""
        engines = {self.engine: self.versions, **self.beside}.items()
        return "; ".join(
            ENGINE_NAMES[engine] + (f" {versions}" if str(versions) else ", all versions")
            for engine, versions in engines
        )

    def threatens(self, recipe: Recipe, profile: Profile) -> bool:
        """Whether its conditions are there: the engine, the version and the rest."""
        versions = {self.engine: self.versions, **self.beside}.get(profile.engine)
        in_range = versions is not None and versions.contains(profile.version, prereleases=True)
        return in_range and self.applies(recipe, profile)


def profile_argv(recipe: Recipe, profile: Profile) -> list[str]:
    """The command of ``profile`` for the published draft, before a version is pinned."""
    return launch_argv(profile, target=recipe.target.served, draft=ModelRef(recipe.repo))
