"""One replay: the draft over every domain, under other engines' readings, and against the gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zoo.evidence import Result
from zoo.replay import gates
from zoo.replay.reference import Engine, NoReferenceError
from zoo.replay.run import Draft, Recorded, Row, run
from zoo.replay.settings import ReplaySettings
from zoo.replay.variants import Variant, controls, neighbours
from zoo.results import Outcome

if TYPE_CHECKING:
    from zoo.replay.run import Reading

# Conversations that are done, of how many.
Told = Callable[[int, int], None]


def replay(
    draft: Draft,
    recorded: Recorded,
    settings: ReplaySettings,
    *,
    training: Mapping[str, Any] | None = None,
    base: Draft | None = None,
    no_base: str = "there is no base draft to compare with",
    engines: Sequence[Engine] = (),
    told: Told = lambda done, total: None,
) -> tuple[Result, ...]:
    """All results, in the order of a report: domains, engines, variants, controls, gates.

    Raises:
        NoReferenceError: there is no reference for this draft.
        UsageError: the trace lacks a layer that the declared draft reads.
    """
    declared = draft.reading()
    main = recorded.only(recorded.main)
    near, dead = list(neighbours(draft, main, declared)), list(controls(draft, declared))
    readings = {engine: _under(draft, engine) for engine in engines}
    extra = [each for each in readings.values() if _differs(each, declared)]
    runs = len([*near, *dead, *extra]) - sum(bool(each.absent) for each in near) + (base is not None)
    total, done = len(recorded.conversations) + runs * len(main.conversations), 0

    def step() -> None:
        nonlocal done
        done += 1
        told(done, total)

    def ran(variant: Variant) -> Sequence[Row] | None:
        if variant.absent or variant.reading is None:
            return None
        made = draft.made(variant.reading, variant.weights)
        return run(made, main, lag=variant.lag, told=step)

    rows = run(draft.made(declared), recorded, probabilities=True, told=step)
    own = [row for row in rows if row.domain == recorded.main]
    results = [_of_domain(domain, rows, recorded) for domain in recorded.domains]
    for engine, reading in readings.items():
        results.append(_of_engine(engine, reading, declared, own, draft, main, step))
    others = None
    if base is not None:
        others = run(base.made(base.reading()), main, told=step)
    found = [
        *gates.optimum(own, [(each, ran(each)) for each in near], settings),
        *gates.negative_controls(own, [(each, ran(each)) for each in dead], settings),
        gates.parity(own, recorded.only(recorded.main).temperature, training, settings),
        gates.not_worse(own, others, no_base, settings),
    ]
    return (*results, *sorted(found, key=lambda each: each.check.startswith("gate/")))


def _of_domain(domain: str, rows: Sequence[Row], recorded: Recorded) -> Result:
    drawn = recorded.only(domain).temperature
    conditions: dict[str, Any] = {"domain": domain, "main": domain == recorded.main}
    conditions |= {} if drawn is None else {"temperature": drawn}
    return gates.measured(f"domain/{domain}", [row for row in rows if row.domain == domain], conditions)


def _of_engine(
    engine: Engine,
    reading: Reading | str,
    declared: Reading,
    own: Sequence[Row],
    draft: Draft,
    main: Recorded,
    step: Callable[[], None],
) -> Result:
    """The main domain as one engine version reads the config."""
    check = f"engine/{engine[0]}-{engine[1]}"
    about: dict[str, Any] = {"domain": main.main, "reading": " ".join(engine)}
    about |= {} if main.temperature is None else {"temperature": main.temperature}
    if isinstance(reading, str):
        return Result(check, Outcome.NOT_CHECKED, reading, about)
    rows = run(draft.made(reading), main, told=step) if _differs(reading, declared) else own
    return gates.measured(check, rows, about | {"as_its_trainer": not _differs(reading, declared)})


def _under(draft: Draft, engine: Engine) -> Reading | str:
    try:
        return draft.reading(engine)
    except NoReferenceError as error:
        return error.message


def _differs(reading: Reading | str, declared: Reading) -> bool:
    return not isinstance(reading, str) and replace(reading, engine=None) != replace(declared, engine=None)
