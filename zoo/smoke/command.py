"""The command of the server that a smoke test starts: the published one of the profile or, on tier cpu, that
of the reference engine; and the same without the draft."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zoo.engines.launch import launch_argv
from zoo.engines.vllm import speculation
from zoo.recipe.model import ModelRef, Profile, Recipe
from zoo.smoke.context import Plan
from zoo.smoke.redact import redacted
from zoo.smoke.server import with_python
from zoo.smoke.settings import CPU

_SPECULATIVE = "--speculative"
_MODULE = ("-m", "zoo.smoke.reference")


@dataclass(frozen=True, slots=True)
class Command:
    """``argv`` makes the command for a port; ``public`` is the same as a record prints it; ``environment``
    goes over that of zoo. ``engine`` and ``version`` are what the profile pins, None for the reference
    engine."""

    argv: Callable[[int], Sequence[str]]
    public: tuple[str, ...]
    environment: Mapping[str, str]
    engine: str | None
    version: str | None


def command(plan: Plan, draft: ModelRef | None) -> Command:
    """The command that serves the target with ``draft``, or without one."""
    profile = plan.profile
    public = public_argv(
        plan.recipe,
        profile,
        plan.settings.tier,
        revision=plan.target.revision,
        extra=plan.extra,
        drafted=draft is not None,
    )
    if plan.settings.tier == CPU:

        def reference(port: int) -> Sequence[str]:
            words = _reference(profile, plan.target.path, "" if draft is None else draft.path)
            address = ["--host", plan.host, "--port", str(port)]
            extra = _extra(plan.extra, draft is not None)
            return [plan.python or sys.executable, *words, *address, *extra]

        return Command(reference, public, {}, None, None)
    # The interpreter that runs zoo, where the machine has none of the name that the profile says.
    python = plan.python or (None if shutil.which("python") else sys.executable)
    environment = dict(profile.environment) | with_python(["python"], python)[1]

    def engine(port: int) -> Sequence[str]:
        words = _launch(plan.recipe, profile, plan.target, draft, plan.extra, plan.host, port)
        return with_python(words, python)[0]

    return Command(engine, public, environment, profile.engine, str(profile.version))


def without_draft(argv: Sequence[str]) -> list[str]:
    """``argv`` without every flag of speculation and its values."""
    kept, dropped = list[str](), False
    for token in argv:
        if token.startswith("-"):
            dropped = token.startswith(_SPECULATIVE) or token == "-sc"
        if not dropped:
            kept.append(token)
    return kept


def public_argv(
    recipe: Recipe,
    profile: Profile,
    tier: str,
    *,
    revision: str | None = None,
    extra: Sequence[str] = (),
    drafted: bool = True,
) -> tuple[str, ...]:
    """The command as a record prints it: {target} and {draft} in the place of the models, without address and
    paths. ``revision``: that of the target, where the engine fetches it by name."""
    target, draft = ModelRef("{target}", revision), ModelRef("{draft}") if drafted else None
    if tier == CPU:
        words = _reference(profile, "{target}", "{draft}" if drafted else "")
        words = ["python", *words, *_extra(extra, drafted)]
    else:
        words = _launch(recipe, profile, target, draft, extra)
    return tuple(redacted(each) for each in words)


def _launch(
    recipe: Recipe,
    profile: Profile,
    target: ModelRef,
    draft: ModelRef | None,
    extra: Sequence[str],
    host: str | None = None,
    port: int | None = None,
) -> list[str]:
    argv = launch_argv(
        profile,
        target=target,
        draft=draft or ModelRef("none"),
        host=host,
        port=port,
        extra=extra,
        speculation=speculation(recipe),
    )
    return argv if draft is not None else without_draft(argv)


def _reference(profile: Profile, target: str, draft: str) -> list[str]:
    """In float32, where nothing may differ, and reading the draft's config as the profile's engine does."""
    reading = f"{profile.engine}=={profile.version}"
    words = [
        *_MODULE,
        "--model-path",
        target,
        "--dtype",
        "float32",
        "--random-seed",
        "1",
        "--reading",
        reading,
    ]
    if draft:
        words += ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", draft]
    return words


def _extra(extra: Sequence[str], drafted: bool) -> list[str]:
    return list(extra) if drafted else without_draft(extra)
