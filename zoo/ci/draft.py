"""One affected recipe: verified as ``zoo verify`` does, its card checked, and compared with the base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date

from zoo import __version__, rules
from zoo.ci import versions
from zoo.ci.base import BaseZoo
from zoo.ci.card import card_findings
from zoo.ci.compared import against_base, touches_files
from zoo.ci.evidence import Records, judge
from zoo.ci.files import known_digest, known_digests
from zoo.ci.gates import unanswered
from zoo.ci.model import Cause, ChangedFile, DraftResult, Kind
from zoo.ci.outcomes import outcomes
from zoo.ci.sources import Down, WithinZoo
from zoo.ci.tags import moved_tags
from zoo.diff.sides import facts_of
from zoo.printable import printable
from zoo.recipe.load import load_recipe
from zoo.recipe.model import Recipe
from zoo.remote.address import Remote, is_remote
from zoo.results import CheckResult, Finding, Outcome, Report
from zoo.rules import Absent, Level
from zoo.verify import Verification, verify_recipe
from zoo.workspace import Zoo

CODES = frozenset(
    {"K001", "V001", "V002", "V005", "V007", "V008", "V009", "V010", "V012", "V016", "V019", "V021"}
)
# The rules whose outcome rests on whether a record counts.
_ON_EVIDENCE = frozenset({"K001", "K002", "K004", "S001", "T001", "V008", "V010", "V016"})
_TOOL = f"draft-zoo {__version__}"


@dataclass(frozen=True)
class Drafts:
    """What is needed to look at the affected recipes. ``zoo``: the files of the change under the settings of
    the base. ``frozen``: changed files of published versions, which V003 names. ``offline``: whether no
    server is asked; ``down``: servers that gave no answer so far."""

    zoo: Zoo
    base: BaseZoo
    changed: tuple[ChangedFile, ...]
    frozen: frozenset[str]
    remote: Remote
    today: date
    offline: bool = False
    down: Down = field(default_factory=dict)

    def check(self, name: str, causes: tuple[Cause, ...]) -> DraftResult:
        """The result of one recipe.

        Raises:
            ZooError: the key of a signer cannot be used, or a record at the base cannot be read.
        """
        file = f"recipes/{name}.yaml"
        there = (self.zoo.recipes / f"{name}.yaml").is_file()
        if there and all(cause.how == "template" for cause in causes):
            return self._card_only(name, file, causes)
        before = self.base.recipe(name)
        if not there:
            old = "" if before is None else before.version
            report = Report(str(Level.HEADER), {"recipe": name, "file": file}, (), tool=_TOOL)
            return DraftResult(name, file, Kind.REMOVED, causes, report, version_before=old)
        with WithinZoo(self.remote, self.down, offline=self.offline) as sources:
            return self._judged(name, file, causes, before, sources)

    def _judged(
        self, name: str, file: str, causes: tuple[Cause, ...], before: Recipe | None, sources: WithinZoo
    ) -> DraftResult:
        """The result of a recipe that is there."""
        old = "" if before is None else before.version
        run = verify_recipe(self.zoo, name, sources=sources, today=self.today)
        recipe = run.subject.recipe
        kind = self._kind(file, before, recipe)
        report = run.report
        if recipe is not None and self._excused(recipe, kind):
            report = _forgiven(run)
        if recipe is None:
            report = _with(report, self._outcomes((), dict.fromkeys(CODES, _UNUSABLE)))
            why = "the recipe cannot be used"
            return DraftResult(name, file, kind, causes, report, "", old, not_compared=why)
        touched = kind is not Kind.UNCHANGED or any(cause.how in ("release", "file") for cause in causes)
        report, records, results = self._changes(run, report, recipe, before, sources, touched)
        diff, why = None, "the recipe at the base cannot be used" if file in self.base.entries else ""
        if before is not None:
            both, checkpoint = (before, recipe), run.subject.checkpoint
            diff = against_base(self.zoo, self.base, self.changed, sources, both, checkpoint)
            why = ""
        return DraftResult(
            name, file, kind, causes, _with(report, results), recipe.version, old, records, diff, why
        )

    def _excused(self, recipe: Recipe, kind: Kind) -> bool:
        """Whether a checkpoint that cannot be reached is no matter: the change did not touch it, or nobody is
        to be asked."""
        if self.offline and is_remote(recipe.checkpoint.source):
            return True
        return kind is Kind.UNCHANGED and not touches_files(self.zoo, recipe, self.changed)

    def _touches_bytes(self, recipe: Recipe, before: Recipe | None) -> bool:
        """Whether the change may have brought other weights, and somebody may be asked for them."""
        if self.offline and is_remote(recipe.checkpoint.source):
            return False
        moved = before is None or before.checkpoint != recipe.checkpoint or before.version != recipe.version
        return moved or touches_files(self.zoo, recipe, self.changed)

    def _kind(self, file: str, before: Recipe | None, after: Recipe | None) -> Kind:
        if before is None:
            return Kind.CHANGED if file in self.base.entries else Kind.ADDED
        same = after is not None and facts_of(before)["resolved"] == facts_of(after)["resolved"]
        return Kind.UNCHANGED if same else Kind.CHANGED

    def _card_only(self, name: str, file: str, causes: tuple[Cause, ...]) -> DraftResult:
        """A recipe of which nothing but the template changed."""
        recipe = load_recipe(self.zoo, name).recipe
        found, absent = ([], _UNUSABLE) if recipe is None else card_findings(self.zoo, recipe, self.frozen)
        missing = dict.fromkeys(CODES - {"K001"}, Absent("only the template changed", required=False))
        missing |= {} if absent is None else {"K001": absent}
        report = Report(str(Level.HEADER), {"recipe": name, "file": file}, (), tool=_TOOL)
        report = _with(report, self._outcomes(found, missing))
        version = "" if recipe is None else recipe.version
        return DraftResult(name, file, Kind.UNCHANGED, causes, report, version, version)

    def _changes(
        self,
        run: Verification,
        report: Report,
        recipe: Recipe,
        before: Recipe | None,
        sources: WithinZoo,
        touched: bool,
    ) -> tuple[Report, Records, tuple[CheckResult, ...]]:
        """The report with evidence bound to the bytes where they are known, the records, and what the rules
        about the change say. ``touched``: whether the change is about this draft, and not only about a file
        that several share without a consequence here."""
        checkpoint = run.subject.checkpoint
        ours = self._touches_bytes(recipe, before)
        known = {}
        if checkpoint is not None:
            known = known_digests(checkpoint, recipe.checkpoint.files, whole=ours)
        digest = known_digest(recipe, known)
        judged = judge(self.zoo, self.base, self.changed, recipe, before, digest)
        if digest is not None and judged.evidence:
            subject = replace(run.subject, evidence=judged.evidence)
            again = {each.code: each for each in rules.run(subject, Level.HEADER, about="evidence")}
            report = replace(report, results=tuple(again.get(each.code, each) for each in report.results))
        found = list(judged.findings)
        card, missing = card_findings(self.zoo, recipe, self.frozen, digest)
        found += card
        released, unknown = versions.released_changes(self.zoo, self.base, recipe, before, known)
        found += released
        if not released:
            found += versions.frozen_text(self.zoo, self.base, recipe, before)
        found += versions.order(self.zoo, self.base, recipe, before)
        found += _waivers(recipe, before)
        tags, unseen = moved_tags(self.zoo, recipe, sources)
        found += tags
        open_gates: list[Finding] = []
        undecided = None
        if touched and not versions.is_published(self.zoo, self.base, recipe):
            open_gates, undecided = unanswered(recipe, judged.evidence, digest)
        found += open_gates
        if ours and unknown is not None:
            unknown = unknown._replace(required=True)
        if (
            ours
            and checkpoint is not None
            and digest is None
            and any(not each.stale for each in judged.evidence)
        ):
            # No claim may rest on a record of weights that nobody has seen.
            judged.missing.setdefault("V008", Absent(_UNKNOWN))
        absent = {"K001": missing, "V001": unknown, "V005": unseen, "V016": undecided, **judged.missing}
        results = self._outcomes(found, {code: each for code, each in absent.items() if each is not None})
        if not touched and any(each.unseen for each in judged.evidence):
            report = replace(report, results=_not_demanded(report.results))
            results = _not_demanded(results)
        return report, judged.records, results

    def _outcomes(
        self, found: list[Finding] | tuple[Finding, ...], missing: dict[str, Absent]
    ) -> tuple[CheckResult, ...]:
        paths = [file.path for file in self.changed]
        return outcomes(found, CODES, paths, self.zoo.severity, missing)


_UNUSABLE = Absent("the recipe cannot be used")
_UNKNOWN = (
    "whether the evidence is about these weights cannot be told: their sha256 is not known without a download"
)


def _forgiven(run: Verification) -> Report:
    """The report without the demand for a checkpoint that cannot be reached."""
    absent = run.subject.missing.get("checkpoint")
    if absent is None:
        return run.report
    return replace(
        run.report,
        results=tuple(
            replace(result, required=False)
            if result.outcome is Outcome.NOT_CHECKED and result.reason == absent.reason
            else result
            for result in run.report.results
        ),
    )


def _not_demanded(results: tuple[CheckResult, ...]) -> tuple[CheckResult, ...]:
    """The results, where a signature that nobody here can check is no matter of this change."""
    return tuple(replace(each, required=False) if each.code in _ON_EVIDENCE else each for each in results)


def _with(report: Report, results: tuple[CheckResult, ...]) -> Report:
    return replace(report, results=(*report.results, *results))


def _waivers(recipe: Recipe, before: Recipe | None) -> Iterator[Finding]:
    """V012: each waiver that the base does not have."""
    there = () if before is None else before.waivers
    for index, waiver in enumerate(recipe.waivers):
        if waiver not in there:
            message = f"{waiver.code} is waived until {waiver.until}: {printable(waiver.reason, keep='')}"
            hint = f"judge the reason; what is waived: zoo rule {waiver.code}"
            yield Finding(message, hint, recipe.where(f"/waivers/{index}"), code="V012")
