"""action.yml, the hook and every workflow under the linters of their kind; and that these can fail."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.action.conftest import ACTION, EXAMPLE
from tests.action.runner import document
from tests.conftest import REPOSITORY

OWN = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = [*OWN, *sorted((EXAMPLE / ".github" / "workflows").glob("*.yml"))]
HOOKS, CONFIG = REPOSITORY / ".pre-commit-hooks.yaml", EXAMPLE / ".pre-commit-config.yaml"
BIN = Path(sys.executable).parent
PLACEHOLDER = "OWNER/draft-zoo@" + "0" * 40


def tool(name: str, *args: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / name, *args], input=stdin, capture_output=True, text=True, check=False, timeout=120
    )


def zizmor(*paths: Path) -> subprocess.CompletedProcess[str]:
    """The strictest persona, which takes a false alarm for one."""
    return tool("zizmor", "--offline", "--no-progress", "--strict-collection", "--persona=auditor", *paths)


def schema(name: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    return tool("check-jsonschema", "--builtin-schema", f"vendor.{name}", *paths)


def all_steps() -> list[tuple[str, dict[str, Any]]]:
    found = [(ACTION.name, step) for step in document(ACTION)["runs"]["steps"]]
    for path in WORKFLOWS:
        shown = path.relative_to(REPOSITORY).as_posix()
        found += [(shown, step) for job in document(path)["jobs"].values() for step in job["steps"]]
    return found


def test_zizmor_finds_nothing() -> None:
    ran = zizmor(ACTION, HOOKS, CONFIG, *WORKFLOWS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr.count("completed") == 3 + len(WORKFLOWS) >= 8


def test_the_schemas_accept_them() -> None:
    assert (ran := schema("github-actions", ACTION)).returncode == 0, ran.stdout
    assert (ran := schema("github-workflows", *WORKFLOWS)).returncode == 0, ran.stdout
    assert (ran := tool("pre-commit", "validate-manifest", HOOKS)).returncode == 0, ran.stdout
    assert (ran := tool("pre-commit", "validate-config", CONFIG)).returncode == 0, ran.stdout


def test_shellcheck_finds_nothing_in_any_script() -> None:
    scripts = [step["run"] for _, step in all_steps() if "run" in step]
    assert len(scripts) > 12
    for script in scripts:
        ran = tool("shellcheck", "--shell=bash", "--norc", "-", stdin=script)
        assert ran.returncode == 0, ran.stdout


def test_the_linters_can_fail(tmp_path: Path) -> None:
    gate = EXAMPLE / ".github" / "workflows" / "draft-zoo.yml"
    place = tmp_path / ".github" / "workflows" / gate.name
    place.parent.mkdir(parents=True)

    def changed(old: str, new: str, of: Path = gate) -> Path:
        text = of.read_text()
        assert old in text
        place.write_text(text.replace(old, new))
        return place

    injected = changed("    steps:\n", "    steps:\n      - run: echo ${{ github.head_ref }}\n")
    assert "template-injection" in zizmor(injected).stdout
    assert "dangerous-triggers" in zizmor(changed("  pull_request:", "  pull_request_target:")).stdout
    assert "artipacked" in zizmor(changed("          persist-credentials: false\n", "")).stdout
    assert schema("github-workflows", changed("timeout-minutes", "timeout-minuets")).returncode == 1
    assert schema("github-actions", changed("using: composite", "using: composit", of=ACTION)).returncode == 1
    assert tool("pre-commit", "validate-manifest", changed("  entry:", "  entri:", of=HOOKS)).returncode == 1
    assert tool("shellcheck", "--shell=bash", "--norc", "-", stdin="rm $1/x\n").returncode == 1


def test_every_action_of_others_is_pinned_to_a_commit_with_its_version() -> None:
    for path in (ACTION, *WORKFLOWS):
        for line in path.read_text().splitlines():
            used = re.search(r"\buses: +(\S+)(.*)", line)
            if used is not None and used[1] != "./gate":
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", used[1]), line
                assert re.fullmatch(r" # v\d+\.\d+\.\d+", used[2]), line


def test_no_expression_is_part_of_a_script_and_every_script_is_strict() -> None:
    for where, step in all_steps():
        if "run" in step and step["run"] != ".ci/run":
            assert "${{" not in step["run"], where
            assert step["run"].startswith("set -euo pipefail\n"), where


def test_what_runs_on_pull_requests_can_only_read_and_has_no_secret() -> None:
    for path in WORKFLOWS:
        data, text = document(path), path.read_text()
        assert data["permissions"] == {}
        assert not data["on"].keys() & {"pull_request_target", "workflow_run", "issue_comment"}
        if "pull_request" in data["on"]:
            assert "secrets." not in text
            assert "environment:" not in text
            assert all(job["permissions"] == {"contents": "read"} for job in data["jobs"].values())


def test_a_job_with_a_secret_waits_for_an_environment_and_none_runs_what_a_change_brings() -> None:
    jobs = {
        (path.name, name): job
        for path in WORKFLOWS
        for name, job in document(path)["jobs"].items()
        if "secrets." in str(job)
    }
    assert set(jobs) == {("measure.yml", "sign"), ("release.yml", "release"), ("hub.yml", "judge")}
    assert all(job["environment"] for job in jobs.values())
    measure = document(EXAMPLE / ".github" / "workflows" / "measure.yml")["jobs"]["measure"]
    assert measure["permissions"] == {"contents": "read"}
    assert "github.token" not in str(measure)
    for where, step in all_steps():
        if str(step.get("uses", "")).startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, where


def test_this_repository_judges_itself_by_the_gate_of_its_base() -> None:
    job = document(REPOSITORY / ".github" / "workflows" / "draft-zoo.yml")["jobs"]["gate"]
    change, gate, judge = job["steps"][:3]
    assert (change["with"]["path"], "ref" in change["with"]) == ("change", False)
    assert gate["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"
    assert judge["uses"] == f"./{gate['with']['path']}"
    assert judge["with"] == {"zoo": change["with"]["path"]}


def test_the_example_names_one_commit_of_the_tool_everywhere() -> None:
    used = {
        step["uses"]
        for where, step in all_steps()
        if where.startswith("docs/") and "draft-zoo" in step.get("uses", "")
    }
    assert used == {PLACEHOLDER}
    [repo] = document(CONFIG)["repos"]
    assert f"{repo['repo'].removeprefix('https://github.com/')}@{repo['rev']}" == PLACEHOLDER
    inputs = document(ACTION)["inputs"]
    for _, step in all_steps():
        if step.get("uses") == PLACEHOLDER:
            assert set(step.get("with", {})) <= set(inputs)
