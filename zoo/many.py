"""Verifying many recipes, and what is kept of each: little enough to hand from one process to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

from zoo.processes import in_order
from zoo.remote.address import Remote
from zoo.results import Report
from zoo.rules import Level
from zoo.sources import Sources
from zoo.verify import Verification, verify_recipe
from zoo.workspace import Zoo

if TYPE_CHECKING:
    from zoo.checkpoint.scan import DeepPass, Scan
    from zoo.engines.readings import EngineReading

Engines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What a person is told of one verification. ``readings``: what the engines that were asked make of the
    draft, None where none can be; ``implied``: the draft is the one that the recipe implies. ``scan``: the
    numbers of a deep pass, where they were asked for."""

    report: Report
    readings: tuple[EngineReading, ...] | None = ()
    implied: bool = False
    scan: Scan | None = None


def told(run: Verification, engines: Engines, stats: bool) -> Told:
    """What is told of ``run``: its report and, where asked for, readings of ``engines`` and the numbers."""
    subject = run.subject
    scan = subject.scan if stats else None
    if not engines:
        return Told(run.report, scan=scan)
    from zoo.engines.readings.drafts import draft_of

    draft = draft_of(subject.recipe, subject.checkpoint, subject.target)
    if draft is None:
        return Told(run.report, None, scan=scan)
    return Told(run.report, tuple(draft.read_by(*pair) for pair in engines), draft.implied, scan)


def verify_all(
    zoo: Zoo,
    names: Sequence[str],
    *,
    remote: Remote,
    jobs: int,
    level: Level = Level.HEADER,
    strict: bool = False,
    engines: Engines = (),
    stats: bool = False,
    deep: DeepPass | None = None,
    today: date | None = None,
) -> list[Told]:
    """Verify the recipes ``names`` of ``zoo``, in ``jobs`` processes; the results are in the order of the
    names. A deep pass has threads of its own, and its progress is shown by this process: it is for one job.

    Raises what :func:`zoo.verify.verify_recipe` and :func:`zoo.processes.in_order` raise.
    """
    work = partial(
        _verify_one,
        zoo=zoo,
        remote=remote,
        level=level,
        strict=strict,
        engines=engines,
        stats=stats,
        deep=deep,
        today=today,
    )
    return in_order(work, names, jobs)


def _verify_one(
    name: str,
    *,
    zoo: Zoo,
    remote: Remote,
    level: Level,
    strict: bool,
    engines: Engines,
    stats: bool,
    deep: DeepPass | None,
    today: date | None,
) -> Told:
    with Sources(remote) as sources:
        run = verify_recipe(zoo, name, level=level, strict=strict, deep=deep, sources=sources, today=today)
        return told(run, engines, stats)
