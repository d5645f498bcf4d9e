"""What the renderers for CI share: reports with their names, and where a finding is shown.

A renderer for CI takes ``[(name, Report)]``: the report of each recipe, or that of a change as a whole under
the name "". ``prefix`` is the folder of the zoo in its repository ("" or "drafts/"), since a service shows a
finding at a path from the root of the repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from zoo.engines.hazards import HAZARDS
from zoo.printable import printable
from zoo.results import CheckResult, Finding, Outcome, Report, Severity, Where
from zoo.rules import RULES

Named = Sequence[tuple[str, Report]]

# What a repository of drafts holds. Any other file of a finding lies in a checkpoint, which may be anywhere.
_FOLDERS = ("recipes", "templates", "release")
_SETTINGS = "zoo.toml"
_FILES = (_SETTINGS, "pyproject.toml")


class Entry(NamedTuple):
    """A finding of the report called ``name``. ``place``: where the repository has it, for a checkpoint the
    line of the recipe that it contradicts; ``elsewhere``: the other places."""

    name: str
    finding: Finding
    place: Where
    elsewhere: tuple[Where, ...]


def entries(reports: Named) -> list[Entry]:
    """All findings once, errors first. What several recipes share (a finding in their target file) is said
    under the first of them."""
    order = list(Severity)
    seen: dict[Finding, tuple[str, Report]] = {}
    for name, report in reports:
        for finding in report.findings:
            seen.setdefault(finding, (name, report))
    found = [_entry(name, finding, anchor_of(report)) for finding, (name, report) in seen.items()]
    return sorted(found, key=lambda entry: order.index(entry.finding.severity))


def not_checked(reports: Named) -> Iterator[tuple[str, CheckResult]]:
    """Every check that did not run, with the name of its report."""
    for name, report in reports:
        for result in report.results:
            if result.outcome is Outcome.NOT_CHECKED:
                yield name, result


def by_reason(results: Iterable[CheckResult]) -> dict[tuple[str, bool], list[str]]:
    """The codes of checks that did not run, by reason and whether the level includes them; those first."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for result in results:
        groups.setdefault((result.reason, result.required), []).append(result.code)
    return dict(sorted(groups.items(), key=lambda group: not group[0][1]))


def anchor_of(report: Report) -> Where:
    """Where a finding is shown that has no place in the repository: the recipe's file, the config of a source
    without one, or the settings for a change as a whole."""
    facts = report.subject
    if facts.get("file"):
        return Where(file=str(facts["file"]))
    return Where(file="config.json" if "checkpoint" in facts else _SETTINGS)


def name_of(code: str) -> str:
    """The name of the rule or hazard, or ""."""
    known = RULES.get(code) or HAZARDS.get(code)
    return known.name if known else ""


def title(finding: Finding) -> str:
    """``C011 block-size``."""
    return f"{finding.code} {name_of(finding.code)}".rstrip()


def one_line(text: str, limit: int = 2_000) -> str:
    """Text from outside on one line."""
    return printable(text, keep="", limit=limit)


def exit_status(reports: Named) -> int:
    """1: an error anywhere. 2: no error, and a required check could not run. Else 0."""
    statuses = {report.exit_status for _, report in reports}
    return 1 if 1 in statuses else max(statuses, default=0)


def _entry(name: str, finding: Finding, anchor: Where) -> Entry:
    places = (finding.where, *finding.related)
    ours = next((place for place in places if _in_repository(place, whole=not name)), None)
    others = tuple(place for place in places if place is not ours and place.as_json())
    return Entry(name, finding, ours or anchor, others)


def _in_repository(place: Where, *, whole: bool) -> bool:
    """``whole``: the finding is about a change as a whole, so any file of it is one of the repository."""
    if not place.file or place.file.startswith("/") or ".." in place.file.split("/"):
        return False
    folder, slash, _ = place.file.partition("/")
    return whole or folder in (_FOLDERS if slash else _FILES)
