"""The command of the server that a smoke test starts: the published one of the profile or, on tier cpu, that
of the reference engine; and the same without the draft."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zoo.engines.launch import launch_argv
from zoo.engines.vllm import speculation
from zoo.recipe.model import ModelRef
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
    public = _public(plan, draft is not None)
    if plan.settings.tier == CPU:

        def reference(port: int) -> Sequence[str]:
            words = _reference(plan, plan.target.path, "" if draft is None else draft.path)
            address = ["--host", plan.host, "--port", str(port)]
            return [plan.python or sys.executable, *words, *address, *_extra(plan, draft is not None)]

        return Command(reference, public, {}, None, None)
    # The interpreter that runs zoo, where the machine has none of the name that the profile says.
    python = plan.python or (None if shutil.which("python") else sys.executable)
    environment = dict(profile.environment) | with_python(["python"], python)[1]

    def engine(port: int) -> Sequence[str]:
        return with_python(_launch(plan, plan.target, draft, port), python)[0]

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


def _launch(plan: Plan, target: ModelRef, draft: ModelRef | None, port: int | None) -> list[str]:
    argv = launch_argv(
        plan.profile,
        target=target,
        draft=draft or ModelRef("none"),
        host=None if port is None else plan.host,
        port=port,
        extra=plan.extra,
        speculation=speculation(plan.recipe),
    )
    return argv if draft is not None else without_draft(argv)


def _reference(plan: Plan, target: str, draft: str) -> list[str]:
    """In float32, where nothing may differ, and reading the draft's config as the profile's engine does."""
    reading = f"{plan.profile.engine}=={plan.profile.version}"
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


def _extra(plan: Plan, drafted: bool) -> list[str]:
    return list(plan.extra) if drafted else without_draft(plan.extra)


def _public(plan: Plan, drafted: bool) -> tuple[str, ...]:
    """The command with {target} and {draft} in the place of the models, without address and paths."""
    target, draft = ModelRef("{target}", plan.target.revision), ModelRef("{draft}") if drafted else None
    if plan.settings.tier == CPU:
        words = [
            "python",
            *_reference(plan, "{target}", "{draft}" if drafted else ""),
            *_extra(plan, drafted),
        ]
    else:
        words = _launch(plan, target, draft, None)
    return tuple(redacted(each) for each in words)
