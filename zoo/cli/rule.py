"""``zoo rule``: what a code means. The text is the documentation that lives with the rule."""

from __future__ import annotations

import textwrap

import click

from zoo.cli.app import App, format_option
from zoo.engines.hazards import HAZARDS, Hazard
from zoo.errors import UsageError
from zoo.recipe.validate import did_you_mean
from zoo.results import Severity
from zoo.rules import RULES, Level, Rule


@click.command("rule")
@click.argument("code", required=False)
@format_option("text", "json")
@click.pass_obj
def command(app: App, code: str | None, form: str) -> None:
    """Explain the rule or hazard CODE, or list them all."""
    known = {code: as_rule(hazard) for code, hazard in HAZARDS.items()} | RULES
    if code is None:
        chosen = [known[each] for each in sorted(known)]
    else:
        by_name = {rule.name: rule for rule in known.values()}
        found = known.get(code.upper()) or by_name.get(code.lower())
        if found is None:
            hint = (
                did_you_mean(code.upper(), known).strip()
                or did_you_mean(code, by_name).strip()
                or "list them: zoo rule"
            )
            raise UsageError(f"there is no rule {code!r}", hint=hint)
        chosen = [found]
    if form == "json":
        documents = [_as_json(rule) for rule in chosen]
        app.json(
            {"schema": "zoo-rule/1", **documents[0]}
            if code
            else {"schema": "zoo-rules/1", "rules": documents}
        )
    elif code:
        app.out(explain(chosen[0]))
    else:
        width = max(len(rule.name) for rule in chosen)
        app.out(
            "\n".join(
                f"{rule.code}  {rule.severity:<7}  {rule.name:<{width}}  {rule.summary}" for rule in chosen
            )
        )


def as_rule(hazard: Hazard) -> Rule:
    """A hazard that no rule of its own reports, only E007, in the form of a rule."""
    doc = (
        f"A hazard of {hazard.range}.\n\n"
        "What it does: Belongs under caveats where it applies to a profile; E007 and E005 look at that.\n"
        f"Why is this bad: {hazard.card}\n"
        f"Example: A profile of {hazard.range} to which it applies, and no {hazard.code} under caveats\n"
        f"Use instead: caveats: [{hazard.code}]; {hazard.advice}\n"
        f"Sources: {hazard.source}\n"
        "Since: 0.1.0"
    )
    return Rule(
        hazard.code, hazard.name, Severity.WARNING, Level.HEADER, ("recipe",), doc, lambda subject: ()
    )


def explain(rule: Rule) -> str:
    """The documentation of one rule as text."""
    lines = [f"{rule.code} {rule.name} ({rule.severity}, {rule.level} level)", "", rule.summary, ""]
    for heading, body in rule.sections.items():
        lines += [heading, textwrap.fill(body, 96, initial_indent="  ", subsequent_indent="  "), ""]
    return "\n".join(lines).rstrip()


def _as_json(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": str(rule.severity),
        "level": str(rule.level),
        "needs": list(rule.needs),
        "summary": rule.summary,
        "sections": rule.sections,
    }
