"""Helpers of the rules about profiles: commands, places and names."""

from __future__ import annotations

from collections.abc import Iterator

from zoo.engines.hazards import ENGINE_NAMES, profile_argv
from zoo.recipe.model import Profile, Recipe
from zoo.results import Where
from zoo.rules.subject import Subject

Command = tuple[Profile, list[str]]  # a profile and its argv for the published draft


def recipe_of(subject: Subject) -> Recipe:
    assert subject.recipe is not None
    return subject.recipe


def commands(subject: Subject, engine: str) -> Iterator[Command]:
    """Every profile of ``engine`` with its command."""
    recipe = recipe_of(subject)
    for profile in recipe.profiles:
        if profile.engine == engine:
            yield profile, profile_argv(recipe, profile)


def argument(profile: Profile, *flags: str) -> Where:
    """The line of the first of ``flags`` that the profile passes."""
    for flag in flags:
        for index, line in enumerate(profile.args):
            if line.partition(" ")[0].partition("=")[0] == flag:
                return profile.where(f"/args/{index}")
    return profile.where("/args")


def engine_of(profile: Profile) -> str:
    """Engine and version as people write them: ``SGLang 0.5.14``."""
    return f"{ENGINE_NAMES[profile.engine]} {profile.version}"
