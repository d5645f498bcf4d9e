"""The result of ``zoo ci`` as text for people. Everything that comes from outside is made printable here."""

from __future__ import annotations

from collections.abc import Iterator

import click

from zoo.ci.model import CiResult, DraftResult, Kind, Verdict
from zoo.ci.words import further, not_in_git, number
from zoo.diff import text as diff_text
from zoo.printable import printable
from zoo.report.text import finding_lines
from zoo.results import Finding, Severity

_COLOUR = {Verdict.PASSED: "green", Verdict.FAILED: "red", Verdict.NOT_CHECKED: "magenta"}
_SHOWN = 5  # reasons why something was not checked, of one recipe


def render(result: CiResult) -> str:
    """The whole result. Styled with ANSI codes, which ``click.echo`` strips where they do not belong."""
    return "\n".join(_lines(result))


def _lines(result: CiResult) -> Iterator[str]:
    files = f"{number(len(result.changed), 'file')} of the zoo"
    dirty = " with uncommitted changes" if result.dirty else ""
    yield _safe(
        f"{result.about}: {result.head_commit[:12]}{dirty} against {result.base} "
        f"({result.base_commit[:12]}), {files}"
    )
    if result.base_ahead:
        yield _safe(f"{result.base} is {further(result)}")
    if result.untracked:
        head, names, rest = not_in_git(result)
        yield _safe(f"{head}: {', '.join(names)}{rest}")
    said: set[Finding] = set()
    for finding in result.tree.findings:
        yield ""
        yield from finding_lines(finding)
    for draft in result.drafts:
        yield ""
        yield from _draft(draft, said)
    yield ""
    counts = ", ".join(number(result.count(each), str(each)) for each in Severity)
    word = click.style(str(result.verdict), fg=_COLOUR[result.verdict], bold=True)
    affected = f"{number(len(result.drafts), 'recipe')} affected: {counts}"
    yield f"{word}  {affected if result.judged else 'nothing to judge'}"


def _draft(draft: DraftResult, said: set[Finding]) -> Iterator[str]:
    version = draft.version or draft.version_before
    if draft.version and draft.version_before and draft.version != draft.version_before:
        version = f"{draft.version_before} -> {draft.version}"
    causes = ", ".join(dict.fromkeys(cause.path for cause in draft.causes[:4]))
    more = f" and {len(draft.causes) - 4} more" if len(draft.causes) > 4 else ""
    name = click.style(_safe(f"{draft.name} {version}".rstrip()), bold=True)
    because = f"  ({_safe(causes)}{more})" if causes else ""
    yield f"== {name}  recipe {draft.kind}, {draft.verdict}{because}"
    if draft.kind is Kind.REMOVED:
        return
    new = [finding for finding in draft.report.findings if finding not in said]
    for finding in new:
        yield from finding_lines(finding)
    said.update(new)
    if len(draft.report.findings) > len(new):
        yield f"and {len(draft.report.findings) - len(new)} of the findings above"
    for record in draft.evidence:
        counts = f", does not count: {record.stale}" if record.stale else ""
        yield _safe(f"evidence {record.name}: {record.outcome.replace('_', ' ')}, {record.by}{counts}")
    reasons: dict[tuple[str, bool], list[str]] = {}
    for result in draft.report.not_checked:
        reasons.setdefault((result.reason, result.required), []).append(result.code)
    # What decides exit 2 comes first, so that it is never among those that are only counted.
    needed_first = sorted(reasons.items(), key=lambda entry: not entry[0][1])
    for (reason, required), codes in needed_first[:_SHOWN]:
        words = "NOT CHECKED, and needed:" if required else "not checked"
        label = click.style(words, fg="magenta", bold=required)
        listed = ", ".join(codes[:6]) + (f" and {len(codes) - 6} more" if len(codes) > 6 else "")
        yield f"{label} {listed}: {_safe(reason)}"
    if len(reasons) > _SHOWN:
        yield f"not checked: {number(len(reasons) - _SHOWN, 'more reason')}; see --format json"
    if draft.diff is not None and draft.diff.differences:
        yield diff_text.render(draft.diff)
    elif draft.not_compared:
        yield f"not compared with the base: {_safe(draft.not_compared)}"


def _safe(text: str) -> str:
    return printable(text, keep="", limit=1000)
