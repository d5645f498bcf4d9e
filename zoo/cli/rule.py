"""``zoo rule``: what a code means. The text is the documentation that lives with the rule."""

from __future__ import annotations

import textwrap

import click

from zoo.cli.app import App, format_option
from zoo.errors import UsageError
from zoo.recipe.validate import did_you_mean
from zoo.rules import RULES, Rule


@click.command("rule")
@click.argument("code", required=False)
@format_option("text", "json")
@click.pass_obj
def command(app: App, code: str | None, form: str) -> None:
    """Explain the rule CODE, or list all rules."""
    if code is None:
        chosen = [RULES[each] for each in sorted(RULES)]
    else:
        by_name = {rule.name: rule for rule in RULES.values()}
        found = RULES.get(code.upper()) or by_name.get(code.lower())
        if found is None:
            hint = (
                did_you_mean(code.upper(), RULES).strip()
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
