"""docs/releases.md is true: the evidence of unchanged weights comes into the next version by its commands."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.conftest import clone, example  # noqa: F401
from tests.ci.example import Work
from tests.conftest import REPOSITORY, Ran

PAGE = (REPOSITORY / "docs" / "releases.md").read_text()
SECTION = PAGE.partition("## The next version of the same weights")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^\$ (.*)$", SECTION, re.MULTILINE)
RECORD = "release/second/{}/evidence/replay-held-out.json"


@pytest.fixture
def bumped(clone: Callable[[str], Work]) -> Work:  # noqa: F811
    """A zoo with a signer, whose draft ``second`` needs a replay; its record is signed. Of the version only
    words change, from 0.1.0 to 0.2.0."""
    work = clone("signed")
    work.write("recipes/second.yaml", work.read("recipes/second.yaml") + "gates: {replay: {}}\n")
    work.card("second")
    work.commit()
    work.git("branch", "-f", "main")
    work.edit("recipes/second.yaml", "version: 0.1.0", "version: 0.2.0")
    work.edit("recipes/second.yaml", "title: A second tiny draft", "title: A second draft")
    return work


def without_claims(work: Work) -> None:
    """Else what the release lacks is the evidence of a number (K004)."""
    text = work.read("recipes/second.yaml")
    work.write("recipes/second.yaml", re.sub(r"claims:\n(  - .*\n)+", "", text))


def in_shell(command: str) -> None:
    subprocess.run(["bash", "-c", command], check=True)


def test_the_commands_bring_the_evidence_through_the_gate_of_pull_requests_into_the_release(
    bumped: Work, run_zoo: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bumped.root)
    said = ""
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        for page, here in {"my-draft": "second", "1.0.0": "0.1.0", "1.1.0": "0.2.0"}.items():
            command = command.replace(page, here)
        if not command.startswith("zoo "):
            in_shell(command)
            continue
        args = shlex.split(command)[1:]
        more = {
            "ci": ["--now", "2026-12-01"],
            "release": ["--sign-key", str(bumped.keys / "alice.pem")],  # this zoo has a signer
        }
        ran = run_zoo(*args, *more.get(args[0], []))
        assert ran.status == 0, f"{command}\n{ran.out}{ran.err}"
        said += ran.out
    assert "evidence replay-held-out: passed, signed by alice" in said
    assert "replay passed" in said
    assert "signed by alice" in bumped.read("release/second/0.2.0/README.md")


def test_a_release_without_the_gate_shows_the_command_that_brings_its_evidence(
    bumped: Work, run_zoo: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bumped.root)
    without_claims(bumped)
    ran = run_zoo("release", "second", "--push")
    assert ran.status == 2, ran.out
    [command] = re.findall(r"and counts: (mkdir .*?/), or state", " ".join(ran.err.split()))
    in_shell(command)
    ran = run_zoo("release", "second", "--push", "--unsigned")
    assert (ran.status, "replay passed" in ran.out) == (0, True), ran.err


def errors(result: dict[str, Any]) -> set[str]:
    [draft] = [draft for draft in result["drafts"] if draft["name"] == "second"]
    found = [finding for each in draft["report"]["results"] for finding in each["findings"]]
    return {finding["code"] for finding in found if finding["severity"] == "error"}


def test_the_evidence_of_other_weights_is_not_offered_and_a_copy_of_it_is_refused(
    bumped: Work, run_zoo: Callable[..., Ran]
) -> None:
    without_claims(bumped)
    bumped.weights("drafts/second", byte=2)
    ran = run_zoo("--zoo", bumped.root, "release", "second", "--push")
    assert (ran.status, "-> run it, or state" in ran.err) == (2, True), ran.err
    for name in (RECORD, RECORD + ".sig"):
        bumped.write(name.format("0.2.0"), (bumped.root / name.format("0.1.0")).read_bytes())
    assert "V007" in errors(bumped.ci())


def test_a_copy_without_its_signature_does_not_count_in_a_zoo_with_signers(bumped: Work) -> None:
    bumped.write(RECORD.format("0.2.0"), bumped.read(RECORD.format("0.1.0")))
    assert "V010" in errors(bumped.ci())
