"""A zoo with signers, judged where nothing can check a signature: without the extra ``sign``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.ci.example import Work
from tests.ci.history import BLOCK, RECORD, add_evidence
from tests.conftest import Ran

INSTALL = "pip install 'draft-zoo[sign]'"
FORMS = ("text", "github", "markdown", "comment", "sarif", "junit")


@pytest.fixture
def work(clone: Callable[[str], Work]) -> Work:
    return clone("signed")


@pytest.fixture
def without_extra(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Take the packages of the extra away, as if they had never been installed."""

    def take() -> None:
        for name in ("model_signing", "cryptography", "OpenSSL", "sigstore"):
            monkeypatch.setitem(sys.modules, name, None)

    return take


def draft(result: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in result["drafts"] if each["name"] == name]
    return found


def not_checked(report: dict[str, Any], *, required: bool) -> dict[str, str]:
    """Code -> reason of what was not checked because of a signature."""
    return {
        each["code"]: each["reason"]
        for each in report["results"]
        if each["outcome"] == "not_checked" and each["required"] is required and INSTALL in each["reason"]
    }


def test_all_the_rest_is_judged_and_every_form_says_what_to_install(
    work: Work, without_extra: Callable[[], None]
) -> None:
    add_evidence(work, "alice")
    work.commit()
    without_extra()
    files = {form: work.keys / f"signatures.{form}" for form in FORMS}
    writes = [word for form, file in files.items() for word in ("--write", f"{form}={file}")]
    result = work.ci(*writes, base="signed")
    assert (result["exit"], result["verdict"]) == (2, "not checked")
    second = draft(result, "second")
    assert set(not_checked(second["report"], required=True)) == {"K001", "K002", "K004", "V008", "V010"}
    passed = {each["code"] for each in second["report"]["results"] if each["outcome"] == "passed"}
    assert {"I001", "C011", "K003", "K005", "V001"} <= passed
    assert [each["stale"] is not None for each in second["evidence"]] == [True, True]
    assert {each["by"] for each in second["evidence"]} == {"with a signature that was not checked"}
    for form, file in files.items():
        assert "draft-zoo[sign]" in file.read_text().replace("\\", ""), form


def test_an_error_is_still_an_error(work: Work, without_extra: Callable[[], None]) -> None:
    work.edit("recipes/second.yaml", "extends: tiny", "extends: tiny\ndraft: {block_size: 8}")
    without_extra()
    assert work.ci(base="signed")["exit"] == 1


def test_a_signature_that_the_change_does_not_touch_stops_nobody(
    work: Work, without_extra: Callable[[], None]
) -> None:
    work.edit("recipes/tiny.yaml", BLOCK, f"{BLOCK} # as trained")
    without_extra()
    result = work.ci(base="signed")
    assert result["exit"] == 0
    report = draft(result, "second")["report"]
    assert not_checked(report, required=True) == {}
    assert set(not_checked(report, required=False)) == {"K001", "K002", "K004", "V008"}


def test_a_record_that_is_not_signed_needs_no_library(work: Work, without_extra: Callable[[], None]) -> None:
    work.remove(f"{RECORD}.sig")
    without_extra()
    result = work.ci(base="signed")
    codes = {
        each["code"] for each in draft(result, "second")["report"]["results"] if each["outcome"] == "failed"
    }
    assert {"V008", "K001", "K004"} <= codes
    assert result["exit"] == 1


def test_a_template_needs_the_library_because_cards_say_who_signed(
    work: Work, without_extra: Callable[[], None]
) -> None:
    work.write("templates/card.md.j2", '{% extends "zoo/card.md.j2" %}\n')
    without_extra()
    result = work.ci(base="signed")
    assert result["exit"] == 2
    assert set(not_checked(draft(result, "second")["report"], required=True)) == {"K001"}


def test_zoo_verify_runs_every_check_that_needs_no_signature(
    work: Work, without_extra: Callable[[], None], run_zoo: Callable[..., Ran]
) -> None:
    work.write("recipes/second.yaml", work.read("recipes/second.yaml") + "gates: {replay: {}}\n")
    before = run_zoo("--zoo", work.root, "verify", "second", "--format", "json")
    without_extra()
    ran = run_zoo("--zoo", work.root, "verify", "second", "--format", "json")
    assert (before.status, ran.status) == (0, 2)
    report, whole = json.loads(ran.out), json.loads(before.out)
    hidden = not_checked(report, required=True)
    assert set(hidden) == {"K002", "K004", "T001"}
    others = [
        {each["code"]: each["outcome"] for each in said["results"] if each["code"] not in hidden}
        for said in (report, whole)
    ]
    assert others[0] == others[1]


def test_a_card_cannot_be_compared_without_the_library(
    work: Work, without_extra: Callable[[], None], run_zoo: Callable[..., Ran]
) -> None:
    assert run_zoo("--zoo", work.root, "card", "second", "--check").status == 0
    without_extra()
    ran = run_zoo("--zoo", work.root, "card", "second", "--check")
    assert (ran.status, INSTALL in ran.err) == (2, True)


def test_the_hook_brings_what_the_extra_is() -> None:
    import tomllib

    from tests.action.runner import document
    from tests.conftest import REPOSITORY

    [hook] = document(REPOSITORY / Path(".pre-commit-hooks.yaml"))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert hook["additional_dependencies"] == project["optional-dependencies"]["sign"]
    assert document(REPOSITORY / "action.yml")["inputs"]["extras"]["default"] == "sign"
