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

# The rules about engines and commands: what our own reading of an engine says proves nothing here.
_OF_ENGINES = ("E", "L", "C102", "C104")


class Answer(StrEnum):
    """How loud the answer is. What was already said of the whole draft does not count, nor do the rules about
    engines."""

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
        alone = _facts(verify_source(str(self.folder)).report)
        errors = self._known[Severity.ERROR] | alone[Severity.ERROR] | alone[Severity.WARNING]
        if errors or _loudest(whole.report, self._known) is not Answer.NOTHING:
            raise AssertionError(f"{variant.name} has findings before it is mutated: {errors}")

    def with_recipe(self, draft: Draft) -> Answer:
        write(self.folder, draft)
        return _loudest(self._report(), self._known)

    def without_recipe(self, draft: Draft) -> Answer:
        write(self.folder, draft)
        report = verify_source(str(self.folder)).report
        return _loudest(report, {severity: set() for severity in Severity})

    def check_against_verify(self, draft: Draft) -> None:
        """Assert that reading the recipe again, as ``zoo verify`` does, says the same."""
        write(self.folder, draft)
        slow = verify_recipe(self._zoo, "mine", checkpoint=str(self.folder)).report
        assert _facts(slow) == _facts(self._report())

    def _report(self) -> Report:
        opened = open_checkpoint(self.folder, str(self.folder))
        # The whole draft has no finding of its own: what was reported of it is about the recipe.
        reported = self._subject.reported + opened.findings
        subject = replace(self._subject, checkpoint=opened, reported=reported)
        return Report("header", {}, rules.run(subject, Level.HEADER))


Facts = dict[Severity, set[tuple[str, str]]]


def _facts(report: Report) -> Facts:
    facts: Facts = {severity: set() for severity in Severity}
    for finding in report.findings:
        if not finding.code.startswith(_OF_ENGINES):
            facts[finding.severity].add((finding.code, finding.message))
    return facts


def _loudest(report: Report, known: Facts) -> Answer:
    facts = _facts(report)
    if facts[Severity.ERROR] - known[Severity.ERROR]:
        return Answer.ERROR
    if any(result.required and not result.code.startswith(_OF_ENGINES) for result in report.not_checked):
        return Answer.REFUSED
    return Answer.WARNING if facts[Severity.WARNING] - known[Severity.WARNING] else Answer.NOTHING
