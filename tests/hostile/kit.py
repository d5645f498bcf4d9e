"""A hostile pull request, judged: what ``zoo ci`` said, in every form that it has."""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zoo.cli
from tests.ci.example import Work
from tests.hostile.watch import Seen, watched
from tests.report import checks
from tests.report.runner import commands
from zoo.ci.render import FORMS

# What every payload of these tests would make, if it ever ran.
MARKER = Path(tempfile.gettempdir()) / f"hostile-{os.getpid()}"
# What GitHub takes of a comment, of a summary and, unpacked, of SARIF.
_LIMITS = {"comment": 65_536, "markdown": 1024 * 1024, "sarif": 10 * 1024 * 1024, "github": 1024 * 1024}
# Of one change: seconds of processor time (a good one takes 0.2) and bytes of memory on top.
_SECONDS, _MEMORY = 8.0, 400 * 1024 * 1024


@dataclass(frozen=True)
class Judged:
    """``exit``: the status; ``result``: the JSON form; ``forms``: the text of each form, by its name;
    ``seen``: what was read, written, contacted and started; ``codes``: of all errors, warnings and notes
    about the change, by recipe ("" for the change itself)."""

    exit: int
    result: dict[str, Any]
    forms: dict[str, str]
    seen: Seen

    @property
    def codes(self) -> dict[str, set[str]]:
        reports = {"": self.result["tree"]} | {each["name"]: each["report"] for each in self.result["drafts"]}
        found = {name: _codes(report) for name, report in reports.items()}
        return {name: codes for name, codes in found.items() if codes}

    @property
    def verdicts(self) -> dict[str, str]:
        return {each["name"]: each["verdict"] for each in self.result["drafts"]}

    @property
    def reasons(self) -> str:
        """Why something was not checked, all in one text."""
        reports = [self.result["tree"], *(each["report"] for each in self.result["drafts"])]
        return "\n".join(result["reason"] for report in reports for result in report["results"])


def recipe_of(work: Work, name: str, *changes: tuple[str, str], files: bool = False) -> Path:
    """Another draft in the change: the recipe of ``fourth`` as NAME, with texts of it replaced. ``files``:
    with a checkpoint of its own. The folder of the checkpoint."""
    text = work.read("recipes/fourth.yaml").replace("name: fourth", f"name: {name}")
    text = text.replace("zoo-tests/fourth", f"zoo-tests/{name}")
    folder = f"drafts/{name}" if files else "drafts/fourth"
    if files:
        shutil.copytree(work.root / "drafts" / "fourth", work.root / folder)
        text = text.replace("./drafts/fourth", f"./{folder}")
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    work.write(f"recipes/{name}.yaml", text)
    return work.root / folder


def each(names: Iterable[str], *codes: str) -> dict[str, set[str]]:
    """The same codes for all of these."""
    return {name: set(codes) for name in names}


def judge(
    work: Work, *, base: str = "main", commit: bool = True, args: tuple[str, ...] = (), online: bool = False
) -> Judged:
    """Judge the change in ``work``. Checked is here, whatever the change: every form is well-formed, nothing
    outside of the zoo was read, written or started, nobody was contacted (but with ``online``), and it was
    quick. ``args``: more of the command line."""
    if commit:
        work.commit()
    folder = work.keys / "forms"
    folder.mkdir(exist_ok=True)
    writes = [word for form in FORMS for word in ("--write", f"{form}={folder / form}")]
    # --now: a waiver that runs out must not change what a test expects.
    command = ["--zoo", str(work.root), "ci", "--base", base, "--now", "2026-12-01", *writes, *args]
    began, memory = time.process_time(), _peak()
    with watched() as seen:
        status = zoo.cli.run(command)
    assert time.process_time() - began < _SECONDS
    assert _peak() - memory < _MEMORY
    seen.stayed_within(work.root, folder)
    assert not MARKER.exists()
    assert online or seen.contacted == []
    forms = {form: (folder / form).read_text() for form in FORMS}
    result = json.loads(forms["json"])
    assert status == result["exit"]
    well_formed(forms)
    return Judged(status, result, forms, seen)


def refused(work: Work, *args: str, base: str = "main") -> int:
    """The exit status of ``zoo ci`` where it cannot judge at all, having reached nothing."""
    with watched() as seen:
        status = zoo.cli.run(["--zoo", str(work.root), "ci", "--base", base, "--now", "2026-12-01", *args])
    seen.stayed_within(work.root, work.keys / "forms")
    assert not MARKER.exists()
    assert seen.contacted == []
    return status


def _peak() -> int:
    """The most memory that this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def well_formed(forms: dict[str, str]) -> None:
    """Every form is what a service or a terminal can take, and text of the change is only text in it."""
    assert set(forms) == set(FORMS)
    for form, output in forms.items():
        assert len(output) <= _LIMITS.get(form, len(output)), form
        if form != "github":
            checks.commands_nothing(output)
        if form not in ("sarif", "junit"):
            checks.is_shown_as_it_is(output)
    assert {each.name for each in commands(forms["github"])} <= {"error", "warning", "notice"}
    for form in ("markdown", "comment"):
        checks.inert_markdown(forms[form])
    checks.valid_ci(json.loads(forms["json"]))
    checks.valid_sarif(forms["sarif"])
    checks.valid_junit(forms["junit"])


def _codes(report: dict[str, Any]) -> set[str]:
    found = [finding for result in report["results"] for finding in result["findings"]]
    return {each["code"] for each in found if each["severity"] != "note" or each["code"][0] == "V"}
