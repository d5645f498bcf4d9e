"""How much the findings of a rule matter in one zoo: the setting ``severity`` (docs/rules.md).

    [tool.zoo]
    severity = {R020 = "error", E005 = "note"}

What may be lowered is what may be waived, for the same reason: an error about the base draft, an engine's
hazard or a launch command is one that a person may know better. Every other error means a broken draft.
"""

from __future__ import annotations

from typing import Any

from zoo.printable import quoted
from zoo.recipe.validate import did_you_mean
from zoo.results import Severity
from zoo.rules.registry import RULES, Rule

_ADJUSTABLE = "BEL"


def is_fixed(rule: Rule) -> bool:
    """Whether findings of ``rule`` are errors that can be neither waived nor lowered."""
    return rule.severity is Severity.ERROR and rule.code[0] not in _ADJUSTABLE


def refusal(code: str, value: Any) -> tuple[str, str] | None:
    """Why ``code`` cannot be ``value`` in the settings, and what to do; None if it can."""
    if code not in RULES:
        hint = did_you_mean(code, RULES).strip() or "list the rules: zoo rule"
        return f"there is no rule {quoted(code)}", hint
    if not isinstance(value, str) or value not in tuple(Severity):
        return f"{code} is {quoted(str(value))}", f"write one of: {', '.join(Severity)}"
    if is_fixed(RULES[code]) and value != Severity.ERROR:
        return (
            f"{code} is an error, and cannot be lowered",
            f"remove {code}: only warnings, notes and the errors of B, E and L rules can be lowered",
        )
    return None
