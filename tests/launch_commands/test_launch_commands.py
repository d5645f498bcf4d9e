"""``zoo launch --check`` on commands in files: exact codes, lines and exit status (``expect.json``).

``findings`` are the errors and warnings as ``CODE:LINE``, ``notes`` what the notes of a code are about,
``not_checked`` codes that could not be judged, ``reason`` why a check that matters was not made, ``fails`` a
message instead of a report. ``SECRET`` in a file stands for a token, so that none is in this repository.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import REPOSITORY, Ran
from zoo.schemas import schema

FOLDER = Path(__file__).parent
CASES = json.loads((FOLDER / "expect.json").read_text())
TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3g"
NAMED = re.compile(r"(?:\b(E\d{3})\b|(--[a-z-]+):)")


def title(case: dict[str, Any]) -> str:
    return " ".join([case["file"], *case["args"]])


@pytest.mark.parametrize("case", CASES, ids=title)
def test_a_command_gets_exactly_this_verdict(
    run_zoo: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]
) -> None:
    monkeypatch.chdir(REPOSITORY)
    file = tmp_path / Path(case["file"]).name
    file.write_text((FOLDER / case["file"]).read_text().replace("SECRET", TOKEN))
    ran = run_zoo("launch", "--check", str(file), *case["args"], "--format", "json")
    assert ran.status == case["exit"], ran.out + ran.err
    assert TOKEN not in ran.out + ran.err
    if "fails" in case:
        assert case["fails"] in ran.err
        return
    report = json.loads(ran.out)
    Draft202012Validator(schema("zoo-report-1")).validate(report)
    found = [finding for result in report["results"] for finding in result["findings"]]
    shown = sorted(f"{each['code']}:{each['where']['line']}" for each in found if each["severity"] != "note")
    assert shown == case["findings"]
    for code, expected in case.get("notes", {}).items():
        messages = [each["message"].partition(": ")[2] for each in found if each["code"] == code]
        assert [next(filter(None, NAMED.search(each).groups())) for each in messages] == expected
    not_checked = {each["code"] for each in report["results"] if each["outcome"] == "not_checked"}
    if "reason" in case:
        assert any(case["reason"] in each["reason"] and each["required"] for each in report["results"])
    without_a_draft = {"E001", "E004", "E038", "E039", "L001", "L002", "L003"}
    assert sorted(not_checked - without_a_draft) == case.get(
        "not_checked", sorted(not_checked - without_a_draft)
    )
    if case["exit"] == 0:
        assert "not_checked" in case or not not_checked - without_a_draft


def test_every_file_has_a_verdict_and_there_are_enough_of_them() -> None:
    files = {
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.glob("*/*")
        if path.parent.name in ("good", "bad")
    }
    assert files == {case["file"] for case in CASES}
    assert len(files) >= 40
