"""What ``zoo`` says about a mutated draft, with the recipe of the whole one and without any."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from tests import tiny_drafts
from tests.mutations.drafts import Draft, Variant, write
from zoo import rules
from zoo.checkpoint.folder import open_checkpoint
from zoo.results import Report, Severity
from zoo.rules import Level
from zoo.verify import verify_recipe, verify_source
from zoo.workspace import find_zoo


class Answer(StrEnum):
    """How loud the answer is; what was already said of the whole draft does not count."""

    ERROR = "error"
    REFUSED = "could not be checked"
    WARNING = "warning"
    NOTHING = "nothing"


class Judge:
    """A variant with its recipe, loaded once. Every mutation is written and read as a folder; only the recipe
    is not read again (``check_against_verify`` compares the two ways)."""

    def __init__(self, variant: Variant, root: Path) -> None:
        self.variant = variant
        self.folder = root / "draft"
        write(self.folder, variant.draft)
        tiny_drafts.recipe_of(self.folder, root / "zoo", "mine")
        self._zoo = find_zoo(root / "zoo")
        whole = verify_recipe(self._zoo, "mine", checkpoint=str(self.folder))
        self._subject = whole.subject
        self._known = _facts(whole.report)
        alone = verify_source(str(self.folder)).report
        # Of the profile one may think otherwise: no engine that is known here serves P-EAGLE, for one.
        errors = {found for found in self._known[Severity.ERROR] if found[0][0] not in "EL"}
        if errors or alone.findings or whole.report.exit_status == 2 or alone.exit_status:
            raise AssertionError(f"{variant.name} has findings before it is mutated: {errors}, {alone.findings}")

    def with_recipe(self, draft: Draft) -> Answer:
        write(self.folder, draft)
        return self._answer(self._report())

    def without_recipe(self, draft: Draft) -> Answer:
        write(self.folder, draft)
        report = verify_source(str(self.folder)).report
        return _loudest(report, {severity: set() for severity in Severity})

    def check_against_verify(self, draft: Draft) -> None:
        """Assert that reading the recipe again, as ``zoo verify`` does, says the same."""
        write(self.folder, draft)
        slow = verify_recipe(self._zoo, "mine", checkpoint=str(self.folder)).report
        assert _facts(slow) == _facts(self._report())

    def messages(self, draft: Draft) -> list[str]:
        """The new findings, for people."""
        write(self.folder, draft)
        facts = _facts(self._report())
        return [
            f"{severity} {code} {message}"
            for severity in Severity
            for code, message in sorted(facts[severity] - self._known[severity])
        ]

    def _report(self) -> Report:
        opened = open_checkpoint(self.folder, str(self.folder))
        before = self._subject.checkpoint
        assert before is not None
        # The whole draft has no finding of its own, so these are the recipe's.
        subject = replace(
            self._subject, checkpoint=opened, reported=self._subject.reported + opened.findings
        )
        assert not before.findings
        return Report("header", {}, rules.run(subject, Level.HEADER))

    def _answer(self, report: Report) -> Answer:
        return _loudest(report, self._known)


Facts = dict[Severity, set[tuple[str, str]]]


def _facts(report: Report) -> Facts:
    facts: Facts = {severity: set() for severity in Severity}
    for finding in report.findings:
        facts[finding.severity].add((finding.code, finding.message))
    return facts


def _loudest(report: Report, known: Facts) -> Answer:
    facts = _facts(report)
    if facts[Severity.ERROR] - known[Severity.ERROR]:
        return Answer.ERROR
    if any(result.required for result in report.not_checked):
        return Answer.REFUSED
    return Answer.WARNING if facts[Severity.WARNING] - known[Severity.WARNING] else Answer.NOTHING
