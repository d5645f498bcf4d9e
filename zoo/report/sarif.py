"""SARIF 2.1.0 (OASIS, errata 01), as code scanning services read it.

The limits are those of GitHub's code scanning: it keeps 5,000 results of a run and at most 10 tags of a rule,
and tells alerts apart by ``primaryLocationLineHash``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from zoo import __version__
from zoo.engines.hazards import HAZARDS
from zoo.report.findings import (
    Entry,
    Named,
    entries,
    exit_status,
    name_of,
    not_checked,
    one_line,
)
from zoo.report.text import place
from zoo.results import CheckResult, Severity, Where
from zoo.rules import RULES

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
MAX_RESULTS = 5_000
MAX_NOTIFICATIONS = 1_000
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_RELATED = 20


def document(reports: Named, prefix: str = "") -> dict[str, Any]:
    """The log: one run. Checks that did not run are notifications of its invocation."""
    found = entries(reports)
    missing = sorted(not_checked(reports), key=lambda pair: not pair[1].required)
    shown, told = found[:MAX_RESULTS], missing[:MAX_NOTIFICATIONS]
    codes = {entry.finding.code for entry in shown} | {result.code for _, result in told}
    rules = {code: index for index, code in enumerate(sorted(codes))}
    notifications = [_notification(name, result, rules) for name, result in told]
    for what, rest in (
        ("findings", len(found) - len(shown)),
        ("checks that did not run", len(missing) - len(told)),
    ):
        if rest > 0:
            notifications.append(
                {"level": "warning", "message": {"text": f"{rest:,} more {what} are left out"}}
            )
    run = {
        "tool": {
            "driver": {
                "name": "draft-zoo",
                "version": __version__,
                "rules": [_rule(code) for code in rules],
            }
        },
        "automationDetails": {"id": "draft-zoo/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": exit_status(reports) != 2,
                "exitCode": exit_status(reports),
                "toolExecutionNotifications": notifications,
            }
        ],
        "results": _results(shown, rules, prefix),
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _results(found: Sequence[Entry], rules: dict[str, int], prefix: str) -> list[dict[str, Any]]:
    """The results; equal ones are numbered, so that each has a fingerprint of its own."""
    seen: Counter[str] = Counter()
    results = []
    for entry in found:
        key = _fingerprint(entry)
        seen[key] += 1
        results.append(_result(entry, rules, prefix) | {"partialFingerprints": _hash(key, seen[key])})
    return results


def _result(entry: Entry, rules: dict[str, int], prefix: str) -> dict[str, Any]:
    finding = entry.finding
    text = one_line(finding.message)
    if finding.hint:
        text += f" -> {one_line(finding.hint)}"
    if entry.elsewhere:
        text += f" ({'; '.join(place(other) for other in entry.elsewhere[:_RELATED])})"
    result = {
        "ruleId": finding.code,
        "ruleIndex": rules[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": _plain(text)},
        "locations": [_location(entry.place, prefix)],
    }
    if entry.name:
        result["properties"] = {"recipe": one_line(entry.name, 200)}
    return result


def _location(where: Where, prefix: str) -> dict[str, Any]:
    assert where.file is not None
    physical: dict[str, Any] = {
        "artifactLocation": {"uri": quote(one_line(prefix + where.file), safe="/"), "uriBaseId": ROOT}
    }
    if where.line is not None:
        physical["region"] = {"startLine": where.line}
        if where.column is not None:
            physical["region"]["startColumn"] = where.column
    location: dict[str, Any] = {"physicalLocation": physical}
    names = [("member", where.pointer), ("variable", where.tensor)]
    logical = [{"fullyQualifiedName": one_line(name, 300), "kind": kind} for kind, name in names if name]
    return location | ({"logicalLocations": logical} if logical else {})


def _fingerprint(entry: Entry) -> str:
    """What stays the same while lines move and numbers change: the rule, and the places without their
    lines."""
    places = (entry.place, *entry.elsewhere)
    parts = [entry.name, entry.finding.code]
    parts += [part or "" for where in places for part in (where.file, where.pointer, where.tensor)]
    return "\0".join(parts)


def _hash(key: str, number: int) -> dict[str, str]:
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return {"primaryLocationLineHash": f"{digest}:{number}"}


def _notification(name: str, result: CheckResult, rules: dict[str, int]) -> dict[str, Any]:
    about = f"{name}: " if name else ""
    return {
        "level": "error" if result.required else "note",
        "associatedRule": {"id": result.code, "index": rules[result.code]},
        "message": {"text": _plain(one_line(f"{about}{result.code} was not checked: {result.reason}"))},
    }


def _rule(code: str) -> dict[str, Any]:
    """A rule with its documentation, which is our own text."""
    described: dict[str, Any] = {"id": code, "name": name_of(code) or code}
    known = RULES.get(code)
    if known is not None:
        sections = known.sections
        why = " ".join(sections[head] for head in ("What it does", "Why is this bad") if head in sections)
        described |= {
            "shortDescription": {"text": known.summary},
            "fullDescription": {"text": why or known.summary},
            "help": {
                "text": "\n\n".join(f"{head}: {body}" for head, body in sections.items()) or known.summary,
                "markdown": "\n\n".join(f"**{head}**\n\n{body}" for head, body in sections.items())
                or known.summary,
            },
            "defaultConfiguration": {"level": _LEVELS[known.severity]},
            "properties": {"tags": ["draft", str(known.level)]},
        }
    elif code in HAZARDS:
        hazard = HAZARDS[code]
        described |= {
            "shortDescription": {"text": hazard.name},
            "fullDescription": {"text": hazard.card},
            "help": {"text": f"{hazard.card}\n\n{hazard.advice}\n\nSource: {hazard.source}"},
            "defaultConfiguration": {"level": "warning"},
        }
    return described


def _plain(text: str) -> str:
    """A message in which nothing is a link: SARIF reads ``[words](target)`` in plain text (3.11.6)."""
    return text.replace("](", "] (")
