"""docs/reliability.md: the whole matrix as tables, without times, so that two runs give the same page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.reliability.cells import Case, Outcome
from tests.reliability.faults import ABOUT, ON_A_REQUEST, ON_THE_HUB, THAT_STAY
from tests.reliability.kill import KillAt
from tests.reliability.matrix import STEPS_OF, WHEN
from tests.reliability.proxy import Spot
from tests.reliability.scenario import NEXT, SCENARIOS, Scenario
from zoo.release.steps import STEPS

PROSE = Path(__file__).with_name("page.md")
# A message without the thing that it is about, which is the row of the table.
_THINGS = (
    (re.compile(r"(^|: )(GET|POST|PUT) \S+: "), r"\1REQUEST: "),
    (re.compile(r"(^|: )(?:the (?!hub |token )|write access|access|pull request)[^:]*: "), r"\1WHAT: "),
    (re.compile(r"(^|: )\S+ of (?:COMMIT|REPO): "), r"\1WHAT: "),
)


class Causes:
    """The messages of the runs that stopped, each with the letter that the tables use for it."""

    def __init__(self) -> None:
        self.letters: dict[str, str] = {}

    def letter(self, cause: str) -> str:
        for pattern, replacement in _THINGS:
            cause = pattern.sub(replacement, cause)
        return self.letters.setdefault(cause, _letter(len(self.letters)))


def _letter(number: int) -> str:
    return chr(ord("a") + number) if number < 26 else f"{_letter(number // 26 - 1)}{_letter(number % 26)}"


def write(page: Path, rows: Mapping[Scenario, tuple[Spot, ...]], outcomes: Iterable[Outcome]) -> None:
    """Write the page: the prose of page.md, in which ``{tables}`` and the counts are filled in."""
    found = {outcome.case: outcome for outcome in outcomes}
    causes = Causes()
    parts = [_requests(scenario, spots, found, causes) for scenario, spots in rows.items()]
    parts += [_staying(rows[NEXT], found, causes), _steps(found)]
    text = PROSE.read_text().format(
        cells=len(found),
        failed=sum(bool(outcome.problems) for outcome in found.values()),
        first_run=sum(not outcome.again for outcome in found.values()),
        again=sum(outcome.again for outcome in found.values()),
        columns="\n".join(f"| {fault} | {ABOUT[fault]} |" for fault in (*ON_A_REQUEST, *ON_THE_HUB)),
        tables="\n\n".join(parts),
        causes="\n".join(f"- **{letter}** {cause}" for cause, letter in causes.letters.items()),
    )
    page.write_text(text)


def _cell(outcome: Outcome, causes: Causes | None) -> str:
    if outcome.problems:
        return "✗ " + "; ".join(outcome.problems).replace("|", "/").replace("\n", " ")[:120]
    if not outcome.again:
        return "✓"
    return f"↻ {causes.letter(outcome.cause)}" if causes and outcome.cause else "↻"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _requests(
    scenario: Scenario, spots: tuple[Spot, ...], found: Mapping[Case, Outcome], causes: Causes
) -> str:
    faults = (*ON_A_REQUEST, *ON_THE_HUB)
    rows = [
        [f"`{spot}`", *(_cell(found[Case(scenario, spot, fault)], causes) for fault in faults)]
        for spot in spots
    ]
    only = "" if scenario is SCENARIOS[0] else " Only the requests that no table above has."
    return f"### {scenario.title}\n{scenario.about}{only}\n\n{_table(['request', *faults], rows)}"


def _staying(spots: tuple[Spot, ...], found: Mapping[Case, Outcome], causes: Causes) -> str:
    labels = dict.fromkeys(spot.label for spot in spots if not spot.label.startswith("GET"))
    rows = [
        [
            f"`{label}`",
            *(_cell(found[Case(NEXT, Spot(label, 1), fault, stays=True)], causes) for fault in THAT_STAY),
        ]
        for label in labels
    ]
    return (
        "### Trouble that stays\nThe release of the first table, with `--timeout 6`. Every such request is "
        f"answered like this, until the first run has ended.\n\n{_table(['request', *THAT_STAY], rows)}"
    )


def _steps(found: Mapping[Case, Outcome]) -> str:
    def shown(outcome: Outcome) -> str:
        return _cell(outcome, None) if outcome.problems or not outcome.again else f"↻ {outcome.state}"

    rows = [
        [
            step.name,
            *(
                shown(found[Case(scenario, kill=KillAt(step.name, when))])
                for scenario in STEPS_OF
                for when in WHEN
            ),
        ]
        for step in STEPS
    ]
    head = [f"{scenario.title}: {when}" for scenario in STEPS_OF for when in WHEN]
    return (
        "### The release killed around each step\nSIGKILL before or after a step of `zoo release`; what the "
        f"hub held then, and `↻` as above.\n\n{_table(['step', *head], rows)}"
    )
