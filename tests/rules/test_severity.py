"""The setting ``severity``: which codes it may name, and how far it may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.errors import SettingsError
from zoo.results import Severity
from zoo.rules import RULES
from zoo.rules.severity import is_fixed, refusal
from zoo.workspace import find_zoo


def test_any_rule_can_be_an_error() -> None:
    assert not [code for code in RULES if refusal(code, "error")]


def test_what_cannot_be_lowered_is_every_error_but_those_of_b_e_and_l() -> None:
    refused = {code for code in RULES if refusal(code, "note")}
    errors = {code for code, rule in RULES.items() if rule.severity is Severity.ERROR}
    assert refused == {code for code in errors if code[0] not in "BEL"}
    assert refused == {code for code, rule in RULES.items() if is_fixed(rule)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('severity = {R999 = "note"}', 'there is no rule "R999"'),
        ('severity = {E005 = "error", r020 = "error"}', 'there is no rule "r020"'),
        ('severity = {R020 = "off"}', 'R020 is "off"'),
        ("severity = {R020 = 1}", 'R020 is "1"'),
        ('severity = {R020 = ["error"]}', "R020 is"),
        ('severity = {D001 = "warning"}', "D001 is an error, and cannot be lowered"),
        ('severity = {I001 = "note"}', "I001 is an error, and cannot be lowered"),
        ('severity = "R020"', "is not a table of codes"),
    ],
)
def test_other_severities_are_refused_with_file_and_code(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "zoo.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        find_zoo(tmp_path)
    assert caught.value.message.startswith(f"{tmp_path / 'zoo.toml'}: setting severity")
    assert said in caught.value.message
    assert caught.value.hint


def test_a_zoo_knows_its_severities(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.zoo]\nseverity = {R020 = "error"}\n')
    assert find_zoo(tmp_path).severity == {"R020": Severity.ERROR}
