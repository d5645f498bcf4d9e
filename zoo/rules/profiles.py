"""Helpers of the rules about profiles: commands, places and names."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from zoo.engines.hazards import ENGINE_NAMES, profile_arguments, profile_argv
from zoo.engines.judge import expanded
from zoo.recipe.model import Profile, Recipe
from zoo.results import Where
from zoo.rules.subject import Subject

Command = tuple[
    Profile, list[str]
]  # a profile and its argv for the published draft, flags by their full names


def recipe_of(subject: Subject) -> Recipe:
    assert subject.recipe is not None
    return subject.recipe


def commands(subject: Subject, engine: str | None = None) -> Iterator[Command]:
    """Every profile (of ``engine``) with its command; the commands that were found in a text have no
    recipe."""
    for profile in subject.profiles or ():
        if engine in (None, profile.engine):
            yield profile, profile_argv(subject.recipe, profile)


def argument(profile: Profile, *flags: str) -> Where:
    """The line of the first of ``flags`` that the profile passes, by whatever name."""
    said = profile_arguments(None, profile)
    words = [each.text for each in said]
    known = expanded(profile.engine, str(profile.version), shlex.split(profile.command), words)
    for flag in flags:
        for text, index in known:
            if text.partition("=")[0] == flag:
                return profile.where(f"/args/{said[index].entry}")
    return profile.where("/args")


def hides_arguments(subject: Subject, profile: Profile) -> bool:
    """Whether a variable beside the command may hold more arguments, so that none is known to be absent."""
    return any(each.profile is profile and each.hidden_arguments for each in subject.commands)


def label(profile: Profile) -> str:
    """How messages name it: ``profile x``, or ``command in line 3``."""
    return profile.name if " " in profile.name else f"profile {profile.name}"


def engine_of(profile: Profile) -> str:
    """Engine and version as people write them: ``SGLang 0.5.14``."""
    return f"{ENGINE_NAMES[profile.engine]} {profile.version}"
