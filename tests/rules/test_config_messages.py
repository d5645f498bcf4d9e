"""Values that are written alike and differ in type are told apart in the message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.kit import edit_config, good_draft, good_recipe
from zoo.verify import verify_recipe
from zoo.workspace import find_zoo


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("vocab_size", "256", 'is "256" (text), the recipe says "256" (an integer)'),
        ("attention_bias", "false", 'is "false" (text), the recipe says "false" (a boolean)'),
        ("vocab_size", 257, 'is "257", the recipe says "256"'),
    ],
)
def test_a_contradiction_says_what_differs(tmp_path: Path, key: str, value: object, message: str) -> None:
    good_draft(tmp_path / "draft")
    good_recipe(tmp_path / "draft")
    edit_config(tmp_path / "draft", **{key: value})
    report = verify_recipe(find_zoo(tmp_path), "draft", checkpoint=str(tmp_path / "draft")).report
    assert any(found.code == "C010" and found.message.endswith(message) for found in report.findings)
