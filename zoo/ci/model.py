"""What ``zoo ci`` found out about a change, as frozen values that renderers (``zoo.ci.*``) turn into text.

Names, paths and values come from an untrusted pull request: a renderer makes them printable itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

from zoo.results import CheckResult, Finding, Outcome, Report, Severity

if TYPE_CHECKING:
    from zoo.diff.model import Diff

SCHEMA = "zoo-ci/1"


class Kind(StrEnum):
    """What became of a file, or of a recipe with all that it refers to."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    # Of a recipe only: it says the same as before, and something beside it changed.
    UNCHANGED = "unchanged"


class Verdict(StrEnum):
    """The one word for the whole change; the exit status is 0, 1 or 2."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file of the change. ``path``: from the root of the zoo, with slashes."""

    path: str
    kind: Kind

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "kind": str(self.kind)}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a recipe is looked at: a changed file, and ``how`` the recipe depends on it ("recipe", "extends",
    "target", "profile", "template", "release", "file")."""

    path: str
    how: str

    def as_json(self) -> dict[str, Any]:
        return {"path": self.path, "how": self.how}


@dataclass(frozen=True, slots=True)
class Record:
    """A record of evidence beside the recipe's version. ``by``: who stands behind it, in words; ``counts``:
    "" or why it does not count; ``kind``: what the change did to it."""

    name: str
    outcome: str
    by: str
    stale: str
    kind: Kind

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "outcome": self.outcome,
            "by": self.by,
            "stale": self.stale or None,
            "change": str(self.kind),
        }


@dataclass(frozen=True)
class DraftResult:
    """One affected recipe. ``report`` holds all rules: those of ``zoo verify`` and those about the change
    (V and K001). ``version_before``: "" where the base has no such recipe. ``diff``: base (a) against change
    (b), or None and ``not_compared`` says why ("" for a new recipe)."""

    name: str
    file: str
    kind: Kind
    causes: tuple[Cause, ...]
    report: Report
    version: str = ""
    version_before: str = ""
    evidence: tuple[Record, ...] = ()
    diff: Diff | None = None
    not_compared: str = ""

    @property
    def verdict(self) -> Verdict:
        return _verdict(self.report.exit_status)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "file": self.file,
            "kind": str(self.kind),
            "causes": [cause.as_json() for cause in self.causes],
            "version": self.version or None,
            "version_before": self.version_before or None,
            "verdict": str(self.verdict),
            "evidence": [record.as_json() for record in self.evidence],
            "report": self.report.as_json(),
            "diff": None if self.diff is None else self.diff.as_json(),
            "not_compared": self.not_compared or None,
        }


@dataclass(frozen=True)
class CiResult:
    """The whole change. ``base``: what it was compared with, in words ("main", "owner/name at main");
    ``base_commit`` and ``head_commit``: in hex; "" where there is none (``head_commit`` of a work tree with
    uncommitted changes is that of HEAD, and ``dirty`` says so).

    ``prefix``: the folder of the zoo in its repository ("" or "drafts/"): paths are relative to the zoo, and
    a service shows them from the root of the repository.

    ``base_ahead``: how many commits the base has got since the change left it. ``untracked``: files that the
    verdict rests on and that git would not have in a clone: neither committed nor in the index.

    ``tree``: the rules about the change as a whole (released files, logs, settings, file names).
    ``drafts``: the affected recipes, by name. ``changed``: the files of the zoo that the change touches.
    """

    base: str
    base_commit: str
    head_commit: str
    dirty: bool
    changed: tuple[ChangedFile, ...]
    tree: Report
    drafts: tuple[DraftResult, ...]
    about: str = "git"  # or "owner/name#N" of a hub
    base_ahead: int = 0
    untracked: tuple[str, ...] = ()
    prefix: str = ""
    tool: str = field(default="")

    @property
    def reports(self) -> Iterator[tuple[str, Report]]:
        """All reports: that of the tree with "", then those of the recipes with their names."""
        yield "", self.tree
        for draft in self.drafts:
            yield draft.name, draft.report

    @cached_property
    def findings(self) -> tuple[tuple[str, Finding], ...]:
        """(recipe or "", finding): all of them once, errors first. What several recipes share (a finding in
        their target file) is said under the first of them."""
        order = list(Severity)
        seen: dict[Finding, str] = {}
        for name, report in self.reports:
            for finding in report.findings:
                seen.setdefault(finding, name)
        pairs = [(name, finding) for finding, name in seen.items()]
        return tuple(sorted(pairs, key=lambda pair: order.index(pair[1].severity)))

    @property
    def not_checked(self) -> tuple[tuple[str, CheckResult], ...]:
        """(recipe or "", result): every check that did not run, with ``required`` where that is exit 2."""
        return tuple(
            (name, result)
            for name, report in self.reports
            for result in report.results
            if result.outcome is Outcome.NOT_CHECKED
        )

    @property
    def judged(self) -> bool:
        """Whether there was anything to judge: a file of the zoo, or of what may run its gate."""
        return bool(self.changed or self.drafts or self.tree.findings)

    def count(self, severity: Severity) -> int:
        return sum(finding.severity is severity for _, finding in self.findings)

    @property
    def exit_status(self) -> int:
        """1: an error anywhere. 2: no error, but a check that the change needs could not run. Else 0."""
        statuses = {report.exit_status for _, report in self.reports}
        return 1 if 1 in statuses else max(statuses)

    @property
    def verdict(self) -> Verdict:
        return _verdict(self.exit_status)

    def as_json(self) -> dict[str, Any]:
        """The result as ``zoo-ci/1`` (``zoo/schemas/zoo-ci-1.json``)."""
        return {
            "schema": SCHEMA,
            "tool": self.tool,
            "about": self.about,
            "base": self.base,
            "base_commit": self.base_commit or None,
            "base_ahead": self.base_ahead,
            "head_commit": self.head_commit or None,
            "dirty": self.dirty,
            "prefix": self.prefix,
            "untracked": list(self.untracked),
            "verdict": str(self.verdict),
            "exit": self.exit_status,
            "summary": {f"{severity}s": self.count(severity) for severity in Severity},
            "changed": [file.as_json() for file in self.changed],
            "tree": self.tree.as_json(),
            "drafts": [draft.as_json() for draft in self.drafts],
        }


def _verdict(status: int) -> Verdict:
    return (Verdict.PASSED, Verdict.FAILED, Verdict.NOT_CHECKED)[status]
