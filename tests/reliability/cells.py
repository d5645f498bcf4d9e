"""One cell of the matrix: a release that something bad happens to, and the same command again."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.hub.server import HubProcess
from tests.reliability import audit
from tests.reliability.faults import Fault
from tests.reliability.kill import KillAt, Launcher, Ran
from tests.reliability.proxy import Proxy, Spot, proxy_to
from tests.reliability.scenario import LIMIT, SHORT, Cell, Scenario, Site

RUNS = 3  # of one command; what happens, happens once
KILLED = -9


@dataclass(frozen=True)
class Case:
    """What happens in one cell: a ``fault`` of the request at ``spot``, or SIGKILL around a step. ``stays``:
    it happens again and again, until a command has stopped."""

    scenario: Scenario
    spot: Spot | None = None
    fault: Fault | None = None
    kill: KillAt | None = None
    stays: bool = False

    def __str__(self) -> str:
        what = (
            f"{self.spot}: {self.fault}" if self.kill is None else f"killed {self.kill.when} {self.kill.step}"
        )
        return f"{self.scenario.name}, {what}{', every time' * self.stays}"


@dataclass
class Outcome:
    """What became of it. ``runs``: how often commands ran until all had succeeded. ``cause``: why the first
    one that did not succeed stopped, "" if it was killed or if all did. ``state``: what the hub held then."""

    case: Case
    runs: int = 0
    cause: str = ""
    state: str = ""
    problems: list[str] = field(default_factory=list)
    requests: tuple[Spot, ...] = ()

    @property
    def again(self) -> bool:
        return bool(self.state)


def play(site: Site, launcher: Launcher, case: Case) -> Outcome:
    """Run the commands of the case until each succeeds, then once more, and look at the hub in between."""
    outcome = Outcome(case)
    with _hub(site, case) as process, proxy_to(process.port, case.spot, case.fault) as proxy:
        cell = site.cell(case.scenario, proxy.url, process)
        proxy.stays, proxy.kill_release = case.stays, launcher.kill
        proxy.delay = sum(str(case.spot).encode()) % 20 / 1000
        proxy.kill_hub = lambda delay: _restart(process, delay)
        for command in case.scenario.commands:
            _until_it_succeeds(cell, launcher, proxy, _args(cell, proxy, case, command), outcome)
        outcome.requests = tuple(proxy.seen)
        for command in () if outcome.problems else case.scenario.commands:
            again = launcher.run(*_args(cell, proxy, case, command))
            outcome.problems += _clean(cell, again)
            if again.status:
                outcome.problems.append(f"once more: {again.err.splitlines()[:1]}")
        if case.spot and not proxy.happened:
            outcome.problems.append(f"there was no {case.spot}")
        if proxy.waited_for_ever:
            outcome.problems.append("without an answer it waited for ever")
        outcome.problems += audit.finished(cell)
        outcome.problems += _kept(cell, proxy)
    return outcome


def _until_it_succeeds(
    cell: Cell, launcher: Launcher, proxy: Proxy, args: list[str], outcome: Outcome
) -> None:
    for number in range(RUNS):
        first = not outcome.runs
        ran = launcher.run(*args, kill=outcome.case.kill if first else None)
        outcome.runs += 1
        outcome.problems += _clean(cell, ran)
        if number and "release" in args and "this continues a release that" not in ran.err:
            outcome.problems.append("it did not say what it continues")
        if ran.status == 0:
            return
        outcome.problems += audit.stopped(cell)
        proxy.mend()
        if not outcome.again:
            outcome.state = audit.visible(cell)
            outcome.cause = "" if ran.status == KILLED else cause(ran.err)
        if ran.status not in (1, 2, KILLED) or (ran.status == KILLED and number):
            outcome.problems.append(f"status {ran.status}: {ran.err[-300:]}")
    outcome.problems.append(f"stopped {RUNS} times: {ran.err[-300:]}")


def _args(cell: Cell, proxy: Proxy, case: Case, command: tuple[str, ...]) -> list[str]:
    words = {"URL": proxy.url}
    limit = SHORT if case.fault is Fault.TIMEOUT or case.stays else LIMIT
    args = [words.get(word, word).replace("ZOO", str(cell.root)) for word in command]
    return ["--zoo", str(cell.root), *args, "--timeout", limit]


def _clean(cell: Cell, ran: Ran) -> list[str]:
    """Neither a traceback nor the token is anywhere; whatever stops says why, and what to do."""
    token, problems = cell.hub.process.token, []
    journal = cell.root / ".zoo/journal/tiny-1.0.0.jsonl"
    written = journal.read_text() if journal.exists() else ""
    if "Traceback" in ran.err:
        problems.append(f"a traceback: {ran.err[-600:]}")
    if token in ran.out + ran.err + written:
        problems.append("the token was shown")
    if ran.status not in (0, KILLED) and not re.search(r"^zoo: .+\n  -> .+", ran.err, re.MULTILINE):
        problems.append(f"no clear cause: {ran.err[-300:]}")
    return problems


def cause(err: str) -> str:
    """Why a run stopped, without what differs between cells."""
    said = re.findall(r"^zoo: (.+)", err, re.MULTILINE)[-1]
    said = re.sub(r"http://127\.0\.0\.1:\d+", "HUB", said)
    said = re.sub(r"acme/tiny-\d+", "REPO", said).replace("127.0.0.1", "HUB")
    said = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", said)
    return re.sub(r"\b[0-9a-f]{40}\b|\b[0-9a-f]{12}\b", "COMMIT", said)


def _kept(cell: Cell, proxy: Proxy) -> list[str]:
    """The hub has every commit and every tag whose request it answered with 2xx."""
    commits, tags, problems = set(), cell.hub.tags(), []
    for method, path, answer in proxy.told:
        where = path.split("?")[0]
        if method == "POST" and f"{cell.repo}/commit/" in where:
            commits.add(json.loads(answer)["commitOid"])
        if method == "POST" and f"{cell.repo}/tag/" in where and tags.get(audit.TAG) != where.split("/")[-1]:
            problems.append("a tag that was acknowledged is gone")
    there = {*cell.hub.commits(), *(cell.hub.commits("refs%2Fpr%2F1"))}
    return [*problems, *(f"commit {each} was acknowledged and is gone" for each in commits - there)]


def _restart(process: HubProcess, delay: float) -> None:
    time.sleep(delay)
    process.kill()
    process.start()


@contextmanager
def _hub(site: Site, case: Case) -> Iterator[HubProcess]:
    """The hub of the site; one of its own, where it is killed."""
    if case.fault is None or not case.fault.kills_the_hub:
        yield site.process
        return
    name = re.sub(r"\W+", "-", str(case))
    with site.hub_of_its_own(name) as process:
        yield process
