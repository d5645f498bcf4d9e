"""``zoo verify --all`` in several processes; the day by which waivers end; the severities of a zoo."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.many import make_many, names
from zoo.release.gates import evaluate
from zoo.verify import verify_recipe
from zoo.workspace import find_zoo

COUNT = 12
Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("many") / "zoo"
    make_many(root, COUNT)
    return root


@pytest.fixture
def one(tmp_path: Path) -> Path:
    make_many(tmp_path / "zoo", 1)
    return tmp_path / "zoo"


def settings(root: Path, text: str) -> None:
    (root / "zoo.toml").write_text(text)


def waive(root: Path, code: str, until: str) -> None:
    recipe = root / "recipes" / "draft-0000.yaml"
    text = f"\nwaivers: [{{code: {code}, reason: nobody wrote it down, until: {until}}}]\n"
    recipe.write_text(recipe.read_text() + text)


def severities(ran: Ran) -> dict[str, str]:
    """The severity of each code in a report."""
    results = json.loads(ran.out)["results"]
    return {found["code"]: found["severity"] for result in results for found in result["findings"]}


@pytest.mark.parametrize("args", [(), ("--format", "json"), ("--engine", "all"), ("--strict",)])
def test_processes_change_nothing_of_what_is_printed(run_zoo: Run, many: Path, args: tuple[str, ...]) -> None:
    alone = run_zoo("--zoo", many, "verify", "--all", "--jobs", "1", *args)
    beside = run_zoo("--zoo", many, "verify", "--all", "--jobs", "3", *args)
    assert alone == beside
    assert alone.status == ("--strict" in args)
    places = [alone.out.find(f"{name}.yaml") for name in names(COUNT)]
    assert -1 not in places
    assert places == sorted(places)


def test_an_error_in_one_recipe_decides_and_the_others_are_still_told(run_zoo: Run, one: Path) -> None:
    text = (one / "recipes" / "draft-0000.yaml").read_text()
    (one / "recipes" / "other.yaml").write_text(text.replace("name: draft-0000", "name: nothing"))
    ran = run_zoo("--zoo", one, "verify", "--all", "--jobs", "2")
    assert ran.status == 1
    assert "== draft-0000" in ran.out
    assert "error R011" in ran.out


def test_jobs_are_about_all_recipes_and_headers(run_zoo: Run, one: Path) -> None:
    for args in (("draft-0000", "--jobs", "2"), ("--all", "--deep", "--jobs", "2")):
        ran = run_zoo("--zoo", one, "verify", *args)
        assert ran.status == 2
        assert "--jobs is about --all without --deep" in ran.err
    assert run_zoo("--zoo", one, "verify", "--all", "--jobs", "0").status == 2


def test_ctrl_c_ends_every_process_with_one_line(one: Path) -> None:
    recipe = one / "recipes" / "draft-0000.yaml"
    text = recipe.read_text().replace("./drafts/draft-0000", "hf://somebody/draft")
    for name in names(3):
        (one / "recipes" / f"{name}.yaml").write_text(text.replace("draft-0000", name))
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and never answers
        hub = f"http://127.0.0.1:{silent.getsockname()[1]}"
        argv = [sys.executable, "-m", "zoo", "--zoo", str(one), "verify", "--all", "--jobs", "3"]
        process = subprocess.Popen(
            [*argv, "--endpoint", hub],
            env={**os.environ, "HF_HUB_OFFLINE": "0", "NO_PROXY": "127.0.0.1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        silent.settimeout(60)
        connections = [silent.accept()[0] for _ in range(3)]  # one from each process
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
        for connection in connections:
            connection.close()
    assert (process.returncode, out, err) == (130, "", "\nzoo: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_a_waiver_holds_until_its_day_and_no_longer(run_zoo: Run, one: Path) -> None:
    waive(one, "R020", "2027-03-01")

    def on(day: str) -> dict[str, str]:
        return severities(run_zoo("--zoo", one, "verify", "draft-0000", "--now", day, "--format", "json"))

    assert on("2027-03-01")["R020"] == "note"
    assert "R023" not in on("2027-03-01")
    assert on("2027-03-02")["R020"] == "warning"
    assert on("2027-03-02")["R023"] == "warning"


def test_now_must_be_a_day(run_zoo: Run, one: Path) -> None:
    ran = run_zoo("--zoo", one, "verify", "draft-0000", "--now", "tomorrow")
    assert ran.status == 2
    assert "'tomorrow' is not a day; write it like 2027-03-01" in ran.err


def test_settings_raise_and_lower_and_every_finding_says_so(run_zoo: Run, one: Path) -> None:
    settings(one, 'severity = {R020 = "error", R021 = "note"}')
    ran = run_zoo("--zoo", one, "verify", "draft-0000", "--format", "json")
    assert ran.status == 1
    assert severities(ran) | {"R020": "error", "R021": "note"} == severities(ran)
    assert "unknown (warning by default, error by the settings)" in ran.out
    assert "(warning by default, note by the settings)" in ran.out
    beside = run_zoo("--zoo", one, "verify", "draft-0000")
    assert "error R020 training.manifest is unknown (warning by default, error by the settings)" in beside.out


def test_a_severity_that_is_the_default_changes_nothing(run_zoo: Run, one: Path) -> None:
    settings(one, "")
    before = run_zoo("--zoo", one, "verify", "draft-0000")
    settings(one, 'severity = {R020 = "warning", F101 = "error"}')
    assert run_zoo("--zoo", one, "verify", "draft-0000") == before


def test_a_waiver_covers_what_the_settings_raised(run_zoo: Run, one: Path) -> None:
    settings(one, 'severity = {R020 = "error"}')
    waive(one, "R020", "2999-01-01")
    ran = run_zoo("--zoo", one, "verify", "draft-0000", "--format", "json")
    assert (ran.status, severities(ran)["R020"]) == (0, "note")
    assert "error by the settings) (waived: nobody wrote it down)" in ran.out


def test_a_launch_command_is_judged_with_the_severities_of_the_zoo(run_zoo: Run, one: Path) -> None:
    profile = one / "recipes" / "profiles" / "sglang-0.5.14-example.yaml"
    profile.write_text(profile.read_text().replace("--tp-size 1", "--tp 1"))
    assert run_zoo("--zoo", one, "launch", "draft-0000").status == 0
    settings(one, 'severity = {L008 = "error"}')
    ran = run_zoo("--zoo", one, "launch", "draft-0000")
    assert ran.status == 1
    assert "error L008" in ran.err


def test_a_gate_of_a_release_names_the_errors_that_the_settings_lowered(one: Path) -> None:
    profile = one / "recipes" / "profiles" / "sglang-0.5.14-example.yaml"
    profile.write_text(profile.read_text().replace("DFLASH", "EAGLE"))

    def static_gate() -> tuple[str, str]:
        run = verify_recipe(find_zoo(one), "draft-0000")
        assert run.subject.recipe is not None
        gate = evaluate(run.subject.recipe, run.report, ())[0]
        return str(gate.outcome), gate.reason

    outcome, reason = static_gate()
    assert outcome == "failed"
    codes = re.findall(r"[BEL]\d{3}", reason)
    settings(one, "severity = {" + ", ".join(f'{code} = "note"' for code in codes) + "}")
    outcome, reason = static_gate()
    assert outcome == "passed"
    assert reason.endswith(f"errors lowered by the settings: {', '.join(codes)}")
