"""JUnit XML as Jenkins and most CI services read it: a suite for each recipe, a case for each check.

A check fails where it has an error (with ``--strict``, a warning too); what it says besides is output of the
case. A check that did not run is skipped, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from zoo.report.findings import Named, name_of, one_line
from zoo.report.text import place
from zoo.results import CheckResult, Finding, Outcome, Report, Severity

_SHORT = 300


def render(reports: Named, about: str = "zoo verify") -> str:
    """The document, in ASCII: other characters are references, so that no encoding can spoil it."""
    suites = [_suite(name, report) for name, report in reports]
    totals = {key: str(sum(int(suite.attrib[key]) for suite in suites)) for key in ("tests", "failures")}
    root = ElementTree.Element("testsuites", {"name": about, **totals, "errors": "0"})
    root.extend(suites)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii")


def _suite(name: str, report: Report) -> ElementTree.Element:
    shown = one_line(name, _SHORT) or "the change as a whole"
    cases = [_case(shown, result, report.strict) for result in report.results]
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": 0,
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    suite = ElementTree.Element("testsuite", {"name": shown} | {key: str(n) for key, n in counts.items()})
    properties = ElementTree.SubElement(suite, "properties")
    facts = {"tool": report.tool, "level": report.level, "strict": str(report.strict).lower()}
    for key, value in (facts | {"checkpoint": str(report.subject.get("checkpoint", ""))}).items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": one_line(value)})
    suite.extend(cases)
    return suite


def _case(suite: str, result: CheckResult, strict: bool) -> ElementTree.Element:
    name = f"{result.code} {name_of(result.code)}".rstrip()
    case = ElementTree.Element("testcase", {"classname": suite, "name": name})
    if result.outcome is Outcome.NOT_CHECKED:
        needed = " (needed at this level)" if result.required else ""
        message = one_line(result.reason) + needed
        ElementTree.SubElement(case, "skipped", {"message": message, "type": "not checked"})
    failing = [each for each in result.findings if _counts(each, strict)]
    if failing:
        first = failing[0]
        message = one_line(first.message)
        failure = ElementTree.SubElement(case, "failure", {"message": message, "type": str(first.severity)})
        failure.text = _text(failing)
    rest = [each for each in result.findings if not _counts(each, strict)]
    if rest:
        ElementTree.SubElement(case, "system-out").text = _text(rest)
    return case


def _counts(finding: Finding, strict: bool) -> bool:
    return finding.severity is Severity.ERROR or (strict and finding.severity is Severity.WARNING)


def _text(findings: Iterable[Finding]) -> str:
    return "\n".join(line for finding in findings for line in _lines(finding))


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}: {one_line(finding.message)}"
    for where in (finding.where, *finding.related):
        if where.as_json():
            yield f"  at {place(where)}"
    if finding.hint:
        yield f"  -> {one_line(finding.hint)}"
