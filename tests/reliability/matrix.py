"""The fault matrix: every request of a release times every fault, every step times SIGKILL.

``make reliability`` runs all of it and writes docs/reliability.md; the suite runs :func:`pairwise`.
"""

from __future__ import annotations

import queue
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.hub.server import HubProcess, running
from tests.reliability.cells import Case, Outcome, play
from tests.reliability.faults import ON_A_REQUEST, ON_THE_HUB, THAT_STAY
from tests.reliability.kill import KillAt, Launcher, launchers
from tests.reliability.proxy import Spot
from tests.reliability.scenario import NEXT, PROPOSAL, SCENARIOS, SIGNED, Scenario, Site
from zoo.release.steps import STEPS

PAGE = REPOSITORY / "docs" / "reliability.md"
WORKERS = 14  # mostly they wait: for a hub, or for a time limit
STEPS_OF = (NEXT, SIGNED, PROPOSAL)
WHEN = ("before", "after")


@dataclass
class Matrix:
    """What is played: ``rows`` are the requests of each scenario that no table above has."""

    site: Site
    launchers: queue.Queue[Launcher]
    rows: dict[Scenario, tuple[Spot, ...]]

    def cases(self) -> list[Case]:
        """All cells."""
        requests = [
            Case(scenario, spot, fault)
            for scenario, spots in self.rows.items()
            for spot in spots
            for fault in (*ON_A_REQUEST, *ON_THE_HUB)
        ]
        return [*requests, *self.staying(), *kills()]

    def staying(self) -> list[Case]:
        """Trouble of the requests that write, or judge, which lasts until the first command has stopped."""
        labels = dict.fromkeys(spot.label for spot in self.rows[NEXT] if not spot.label.startswith("GET"))
        return [Case(NEXT, Spot(label, 1), fault, stays=True) for label in labels for fault in THAT_STAY]

    def pairwise(self, seed: int) -> list[Case]:
        """Few cells with every request, every fault and both sides of every step in them."""
        chooser, cases = random.Random(seed), []
        spots = [(scenario, spot) for scenario, spots in self.rows.items() for spot in spots]
        faults = [*ON_A_REQUEST] * (len(spots) // len(ON_A_REQUEST) + 1)
        chooser.shuffle(faults)
        cases = [Case(*where, fault) for where, fault in zip(spots, faults, strict=False)]
        cases += [
            Case(*where, fault) for where, fault in zip(chooser.sample(spots, 2), ON_THE_HUB, strict=True)
        ]
        missing = set(ON_A_REQUEST) - {case.fault for case in cases}
        cases += [Case(*chooser.choice(spots), fault) for fault in sorted(missing)]
        # Each step once, alternately before and after it, in one of the scenarios.
        around = [
            Case(chooser.choice(STEPS_OF), kill=KillAt(step.name, WHEN[number % 2]))
            for number, step in enumerate(STEPS)
        ]
        return [*cases, chooser.choice(self.staying()), *around]

    def play(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Play ``cases``, several at a time, in their order."""
        with ThreadPoolExecutor(WORKERS) as pool:
            yield from pool.map(self._play, cases)

    def _play(self, case: Case) -> Outcome:
        launcher = self.launchers.get()
        try:
            return play(self.site, launcher, case)
        finally:
            self.launchers.put(launcher)


def kills() -> list[Case]:
    """SIGKILL around every step of the scenarios."""
    return [
        Case(scenario, kill=KillAt(step.name, when))
        for step in STEPS
        for scenario in STEPS_OF
        for when in WHEN
    ]


@contextmanager
def prepared(folder: Path) -> Iterator[Matrix]:
    """A hub, and the scenarios on it; each was played once without a fault, to know its requests."""
    with running(folder / "hub") as hub, launchers(WORKERS, _env(hub, folder), folder) as made:
        free: queue.Queue[Launcher] = queue.Queue()
        for launcher in made:
            free.put(launcher)
        site = Site(folder, hub)
        with ThreadPoolExecutor(len(SCENARIOS)) as pool:
            list(pool.map(site.make, SCENARIOS, made))
        matrix, known = Matrix(site, free, {}), set[str]()
        for outcome in matrix.play([Case(scenario) for scenario in SCENARIOS]):
            assert not outcome.problems, (outcome.case.scenario.name, outcome.problems)
            if spots := _new(outcome.requests, known):
                matrix.rows[outcome.case.scenario] = spots
        yield matrix


def _new(requests: Iterable[Spot], known: set[str]) -> tuple[Spot, ...]:
    """The requests that a table above does not have: every one of the first scenario, then what is new."""
    spots = tuple(spot for spot in requests if spot.label not in known)
    known |= {spot.label for spot in spots}
    return spots


def _env(hub: HubProcess, folder: Path) -> dict[str, str]:
    """No threads of numpy: the process is forked."""
    cache = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**hub.env(), **cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def main() -> int:
    from tests.reliability.page import write

    start, outcomes = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="zoo-reliability-") as folder, prepared(Path(folder)) as matrix:
        cases = matrix.cases()
        for outcome in matrix.play(cases):
            outcomes.append(outcome)
            if outcome.problems:
                print(f"{outcome.case}: {'; '.join(outcome.problems)}", file=sys.stderr)
            if len(outcomes) % 50 == 0:
                print(f"{len(outcomes)} of {len(cases)} cells, {time.monotonic() - start:.0f} s", flush=True)
        write(PAGE, matrix.rows, outcomes)
    failed = sum(bool(outcome.problems) for outcome in outcomes)
    print(f"{len(outcomes)} cells, {failed} failed: {PAGE.relative_to(REPOSITORY)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
