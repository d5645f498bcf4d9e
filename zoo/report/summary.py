"""Job summaries: the Markdown of ``zoo ci`` and ``zoo verify`` for ``$GITHUB_STEP_SUMMARY``.

Headline, a table of the recipes, then for each of them what was found, the evidence, what did not run, and
what changed. GitHub refuses a summary of more than 1 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from zoo.ci.model import CiResult, DraftResult, Kind
from zoo.ci.words import further, not_in_git, number
from zoo.diff import markdown as diff_markdown
from zoo.report.findings import Named, by_reason, exit_status, not_checked, title
from zoo.report.markdown import bounded, cell_code, fitting, table, words
from zoo.report.text import place
from zoo.results import Finding, Report, Severity

_WORDS = ("passed", "failed", "could not check")
_CODES = 6


class Size(NamedTuple):
    """How much is shown: characters in all, of one diff and of one table or list; rows of a table."""

    characters: int
    diff: int
    table: int
    rows: int


# In UTF-8 a character has at most 4 bytes.
SUMMARY = Size(characters=250_000, diff=60_000, table=60_000, rows=100)
_REST = "The rest does not fit here: see the log of the job, or run `{}`."


def render(result: CiResult) -> str:
    """The summary of a change."""
    return bounded(blocks(result, SUMMARY), SUMMARY.characters, _REST.format("zoo ci"))


def render_reports(reports: Named) -> str:
    """The summary of verifications: ``zoo verify --format markdown``."""
    return bounded(_of_reports(reports), SUMMARY.characters, _REST.format("zoo verify"))


def _of_reports(reports: Named) -> Iterator[str]:
    yield f"## Draft zoo: {_WORDS[exit_status(reports)]}"
    for name, report in reports:
        verdict = _WORDS[report.exit_status]
        yield f"### {cell_code(name)}: {verdict}\n\n{_counts(report)} at {words(report.level)} level"
        yield from _of_report(name, report, SUMMARY)


def blocks(result: CiResult, size: Size) -> Iterator[str]:
    """The parts of a summary, what matters most first; none of them is to be cut."""
    yield f"## Draft zoo: {_WORDS[result.exit_status]}"
    yield _headline(result)
    if result.untracked:
        yield _not_in_git(result)
    if result.drafts:
        head = ["recipe", "change", "version", "verdict", "errors", "warnings", "evidence"]
        yield table(head, [_row(draft) for draft in _by_verdict(result)], size.rows, size.table)
    else:
        yield "No recipe is affected." if result.judged else "Nothing to judge."
    if any(True for _ in _of_report("", result.tree, size)):
        yield f"### The change as a whole: {_WORDS[result.tree.exit_status]}"
        yield from _of_report("", result.tree, size)
    for draft in _by_verdict(result):
        yield from _of_draft(draft, size)


def _headline(result: CiResult) -> str:
    counts = [number(result.count(severity), str(severity)) for severity in Severity]
    files = number(len(result.changed), "file")
    base = cell_code(result.base) + (f" ({cell_code(result.base_commit[:12])})" if result.base_commit else "")
    text = f"{', '.join(counts)}; {files} of the zoo changed, compared with {base}."
    if result.head_commit:
        text += f" Head: {cell_code(result.head_commit[:12])}"
        text += " and what is not committed." if result.dirty else "."
    if result.base_ahead:
        text += f" {cell_code(result.base)} is {further(result)}."
    return text


def _not_in_git(result: CiResult) -> str:
    head, names, rest = not_in_git(result)
    return f"**{head}**: {', '.join(map(cell_code, names))}{words(rest)}"


def _row(draft: DraftResult) -> Sequence[str]:
    version = draft.version or "none"
    if draft.version_before not in ("", draft.version):
        version = f"{draft.version_before} → {version}"
    counted = sum(not record.stale for record in draft.evidence)
    return [
        cell_code(draft.name),
        str(draft.kind),
        words(version, 80),
        _WORDS[draft.report.exit_status],
        f"{draft.report.count(Severity.ERROR):,}",
        f"{draft.report.count(Severity.WARNING):,}",
        f"{counted:,} of {len(draft.evidence):,} count" if draft.evidence else "none",
    ]


def _of_draft(draft: DraftResult, size: Size) -> Iterator[str]:
    causes = [f"{cell_code(cause.path)} ({words(cause.how)})" for cause in draft.causes[: size.rows]]
    more = len(draft.causes) - len(causes)
    because = ", ".join(causes) + (f" and {more:,} more" if more > 0 else "")
    yield f"### {cell_code(draft.name)}: {_WORDS[draft.report.exit_status]}"
    if because:
        yield f"Because of {because}."
    yield from _of_report(draft.name, draft.report, size)
    if draft.evidence:
        rows = [
            [
                cell_code(record.name),
                words(record.outcome),
                words(record.by),
                words(f"no: {record.stale}") if record.stale else "yes",
                str(record.kind),
            ]
            for record in draft.evidence
        ]
        head = ["record", "outcome", "by", "counts", "change"]
        yield f"**Evidence**\n\n{table(head, rows, size.rows, size.table)}"
    yield from _what_changed(draft, size)


def _what_changed(draft: DraftResult, size: Size) -> Iterator[str]:
    if draft.diff is not None:
        shown = diff_markdown.render(draft.diff, size.diff).rstrip()
        head = "<summary>What changed (A: the base, B: this change)</summary>"
        yield f"<details>{head}\n\n{shown}\n\n</details>"
    elif draft.not_compared:
        yield f"Not compared with the base: {words(draft.not_compared)}"
    elif draft.kind is Kind.ADDED:
        yield "A new recipe: there is nothing to compare with."


def _of_report(name: str, report: Report, size: Size) -> Iterator[str]:
    """Findings, then what did not run."""
    if report.findings:
        rows = [
            [str(each.severity), words(title(each)), _what(each), _where(each)] for each in report.findings
        ]
        head = ["", "rule", "what, and what to do", "where"]
        yield f"**Findings**\n\n{table(head, rows, size.rows, size.table)}"
    missing = by_reason(result for _, result in not_checked([(name, report)]))
    lines = []
    for (reason, required), codes in missing.items():
        more = f" and {len(codes) - _CODES:,} more" if len(codes) > _CODES else ""
        label = "**Not checked, and needed**" if required else "Not checked"
        lines.append(f"- {label}: {words(reason)} ({', '.join(codes[:_CODES])}{more})")
    if lines:
        kept = fitting(lines[: size.rows], size.table)
        left = len(lines) - len(kept)
        yield "\n".join(kept) + (f"\n\nNot shown: {number(left, 'more reason')}." if left > 0 else "")


def _what(finding: Finding) -> str:
    return words(finding.message) + (f"<br>→ {words(finding.hint)}" if finding.hint else "")


def _where(finding: Finding) -> str:
    """The places, each once."""
    places = dict.fromkeys(place(where) for where in (finding.where, *finding.related[:3]))
    return "<br>".join(cell_code(shown) for shown in places if shown)


def _by_verdict(result: CiResult) -> list[DraftResult]:
    """The recipes: failed, not checked, passed."""
    order = (2, 0, 1)
    return sorted(result.drafts, key=lambda draft: order[draft.report.exit_status])


def _counts(report: Report) -> str:
    said = [number(report.count(severity), str(severity)) for severity in Severity]
    return f"{', '.join(said)}, {len(report.not_checked):,} of {len(report.results):,} checks not run"
