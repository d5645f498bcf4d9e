"""How a change is read from git, and what the verdict follows from."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.ci.example import Work
from tests.ci.history import BLOCK, good_new_draft
from tests.conftest import Ran
from zoo.ci.git import Repository
from zoo.ci.model import CiResult, Kind
from zoo.results import CheckResult, Finding, Outcome, Report, Severity

Clone = Callable[[str], Work]


def result(*results: CheckResult) -> CiResult:
    return CiResult("main", "a" * 40, "b" * 40, False, (), Report("change", {}, results), ())


def found(severity: Severity) -> CheckResult:
    return CheckResult("V001", Outcome.FAILED, findings=(Finding("m", "h", code="V001", severity=severity),))


MISSING = CheckResult("V001", Outcome.NOT_CHECKED, "no", required=True)
FOOTNOTE = CheckResult("V001", Outcome.NOT_CHECKED, "no", required=False)


@pytest.mark.parametrize(
    ("results", "status", "verdict"),
    [
        ((), 0, "passed"),
        ((found(Severity.WARNING), FOOTNOTE), 0, "passed"),
        ((MISSING,), 2, "not checked"),
        ((MISSING, found(Severity.ERROR)), 1, "failed"),
    ],
)
def test_an_error_counts_before_what_was_not_checked(
    results: tuple[CheckResult, ...], status: int, verdict: str
) -> None:
    assert (result(*results).exit_status, str(result(*results).verdict)) == (status, verdict)


def test_what_is_not_committed_counts_and_is_said(clone: Clone) -> None:
    work = clone("main")
    good_new_draft(work)
    said = work.ci()
    assert said["dirty"]
    assert [draft["kind"] for draft in said["drafts"]] == ["added"]
    work.commit()
    assert not work.ci()["dirty"]


def test_what_main_got_since_is_no_part_of_the_change(clone: Clone) -> None:
    work = clone("main")
    good_new_draft(work)
    work.commit()
    work.git("checkout", "-q", "main")
    work.edit("recipes/fourth.yaml", "A tiny draft", "A small draft")
    work.commit()
    work.git("checkout", "-q", "change")
    assert [draft["name"] for draft in work.ci()["drafts"]] == ["fifth"]


def test_a_file_that_git_ignores_is_no_part_of_the_change(clone: Clone) -> None:
    work = clone("main")
    work.write(".git/info/exclude", "recipes/draft-*.yaml\n")
    work.write("recipes/draft-mine.yaml", "not yaml: [")
    assert work.ci()["drafts"] == []


def test_an_index_that_is_older_than_the_files_is_no_change(clone: Clone) -> None:
    work = clone("main")
    for path in (work.root / "recipes").rglob("*.yaml"):
        path.write_bytes(path.read_bytes())
        path.touch()
    assert work.ci()["changed"] == []


def test_a_change_that_git_is_told_to_overlook_is_seen(clone: Clone) -> None:
    """CRLF, which a .gitattributes of the pull request can hide from git diff."""
    work = clone("main")
    work.write(".gitattributes", "* -diff -text eol=crlf\n")
    work.edit("recipes/fourth.yaml", "A tiny draft", "A small draft")
    assert "recipes/fourth.yaml" in [file["path"] for file in work.ci()["changed"]]


def test_a_zoo_in_a_folder_of_a_repository(tmp_path: Path, example: Work) -> None:
    root = tmp_path / "repository" / "drafts"
    shutil.copytree(example.root, root, ignore=shutil.ignore_patterns(".git"))
    outer = Work(tmp_path / "repository", example.keys)
    outer.git("init", "-q", "-b", "main")
    outer.commit()
    work = Work(root, example.keys)
    work.edit("recipes/fourth.yaml", "A tiny draft", "A small draft")
    outer.write("recipes/tiny.yaml", "of something else")
    said = work.ci()
    assert said["prefix"] == "drafts/"
    assert [draft["name"] for draft in said["drafts"]] == ["fourth"]
    assert [file["path"] for file in said["changed"]] == ["recipes/fourth.yaml"]


@pytest.mark.parametrize(
    "name", ["\udcff.yaml", "a\nb.yaml", 'a"b.yaml', "ä\tü.yaml", "\u202eb.yaml", "-x.yaml"]
)
def test_any_name_of_a_file_is_read_as_it_is(clone: Clone, name: str) -> None:
    work = clone("main")
    work.write(f"recipes/{name}", "recipe: 1\n")
    said = work.ci()
    assert [file["path"] for file in said["changed"]] == [f"recipes/{name}"]
    assert said["exit"] == 1


def test_nothing_that_the_repository_names_is_run(clone: Clone, tmp_path: Path) -> None:
    work = clone("main")
    mark = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {mark}\ncat\n")
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "query-watchman"):
        shutil.copy(script, hooks / name)
    for key in ("core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "core.pager"):
        work.git("config", key, str(script))
    work.git("config", "core.hooksPath", str(hooks))
    work.write(".gitattributes", "* diff=x\n")
    work.edit("recipes/fourth.yaml", "A tiny draft", "A small draft")
    mark.unlink(missing_ok=True)
    assert [draft["name"] for draft in work.ci()["drafts"]] == ["fourth"]
    assert not mark.exists()


def test_the_environment_of_git_is_not_believed(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    work = clone("main")
    work.edit("recipes/fourth.yaml", "A tiny draft", "A small draft")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    changed = Repository(work.root).base("main")
    assert changed.name == "main"


def test_nothing_is_written_into_the_repository(clone: Clone) -> None:
    work = clone("main")
    work.edit("recipes/fourth.yaml", "A tiny draft", "A small draft")
    before = {path: path.stat().st_mtime_ns for path in sorted(work.root.rglob("*"))}
    work.ci()
    assert {path: path.stat().st_mtime_ns for path in sorted(work.root.rglob("*"))} == before


def test_a_shallow_clone_says_what_to_fetch(
    clone: Clone, tmp_path: Path, run_zoo: Callable[..., Ran]
) -> None:
    work = clone("main")
    good_new_draft(work)
    work.commit()
    shallow = tmp_path / "shallow"
    source = f"file://{work.root}"
    subprocess.run(["git", "clone", "-q", "--depth=1", "-b", "change", source, shallow], check=True)
    subprocess.run(["git", "fetch", "-q", "--depth=1", "origin", "main:main"], cwd=shallow, check=True)
    ran = run_zoo("--zoo", shallow, "ci", "--base", "main")
    assert ran.status == 2
    assert "fetch-depth: 0" in ran.err


def test_a_base_that_is_not_there_is_named(clone: Clone, run_zoo: Callable[..., Ran]) -> None:
    work = clone("main")
    for ref in ("nowhere", "--output=/tmp/x", "main:recipes"):
        ran = run_zoo("--zoo", work.root, "ci", f"--base={ref}")
        assert ran.status == 2
        assert "there is no commit" in ran.err


def test_the_base_is_found_where_none_is_named(clone: Clone, run_zoo: Callable[..., Ran]) -> None:
    work = clone("main")
    work.edit("recipes/fourth.yaml", BLOCK, f"{BLOCK} #")
    ran = run_zoo("--zoo", work.root, "ci", "--format", "json")
    assert json.loads(ran.out)["base"] == "main"


def test_a_folder_without_git_could_not_be_checked(tmp_path: Path, run_zoo: Callable[..., Ran]) -> None:
    (tmp_path / "zoo.toml").write_text("")
    ran = run_zoo("--zoo", tmp_path, "ci")
    assert ran.status == 2
    assert "is not in a git repository" in ran.err


def test_a_waiver_expires_by_the_day_that_is_named(clone: Clone, run_zoo: Callable[..., Ran]) -> None:
    work = clone("main")
    work.edit("recipes/fourth.yaml", "caveats: [E008, E009, E017]", "caveats: [E008, E009]")
    text = 'waivers: [{code: E007, reason: "known here", until: 2027-03-01}]\n'
    work.write("recipes/fourth.yaml", work.read("recipes/fourth.yaml") + text)
    work.card("fourth")
    counts = []
    for day in ("2027-03-01", "2027-03-02"):
        ran = run_zoo("--zoo", work.root, "ci", "--base", "main", "--format", "json", "--now", day)
        counts.append(json.loads(ran.out)["summary"]["warnings"])
    # The waiver that came in; then also what it hid, and that it has expired.
    assert counts == [1, 3]


def test_every_form_can_be_written_at_once(clone: Clone, tmp_path: Path, run_zoo: Callable[..., Ran]) -> None:
    work = clone("main")
    good_new_draft(work)
    forms = ("text", "json", "github", "markdown", "comment", "sarif", "junit")
    options = [option for form in forms for option in ("--write", f"{form}={tmp_path / form}")]
    ran = run_zoo("--zoo", work.root, "ci", "--base", "main", "--format", "comment", *options)
    assert ran.status == 0
    assert all((tmp_path / form).stat().st_size for form in forms)
    assert (tmp_path / "comment").read_text() == ran.out
    assert json.loads((tmp_path / "json").read_text())["verdict"] == "passed"


def test_a_form_that_nobody_knows_is_refused(clone: Clone, run_zoo: Callable[..., Ran]) -> None:
    ran = run_zoo("--zoo", clone("main").root, "ci", "--write", "pdf=x")
    assert ran.status == 2
    assert "is not FORMAT=FILE" in ran.err


def test_the_result_is_what_its_schema_says(clone: Clone) -> None:
    from zoo.schemas import validator

    work = clone("main")
    good_new_draft(work)
    work.edit("recipes/fourth.yaml", "block_size: 4", "block_size: 8")
    work.remove("recipes/third.yaml")
    assert list(validator("zoo-ci-1").iter_errors(work.ci())) == []


def test_a_removed_file_and_a_folder_in_its_place_are_told_apart(clone: Clone) -> None:
    work = clone("main")
    work.remove("README.md")
    work.write("README.md/inside", "x")
    kinds = {file.path: file.kind for file in changed(work)}
    assert kinds == {"README.md": Kind.REMOVED, "README.md/inside": Kind.ADDED}


def changed(work: Work):  # type: ignore[no-untyped-def]
    repository = Repository(work.root)
    commit = repository.base("main").commit
    return repository.changed(commit, repository.entries(commit))


def test_a_server_that_gives_no_answer_is_asked_once(clone: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener that never answers: of five drafts there, the first waits for all."""
    work = clone("main")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        text = work.read("recipes/third.yaml")
        for number in range(5):
            work.write(f"recipes/third-{number}.yaml", text.replace("name: third", f"name: third-{number}"))
        started = time.monotonic()
        said = work.ci("--endpoint", f"http://127.0.0.1:{silent.getsockname()[1]}", "--timeout", "1.5")
        assert time.monotonic() - started < 5 * 1.5
    reasons = [
        next(result["reason"] for result in draft["report"]["results"] if result["code"] == "I001")
        for draft in said["drafts"]
    ]
    assert len(reasons) == 5
    assert sum("was not asked for" in reason for reason in reasons) == 4


def test_what_github_reads_only_at_the_top_is_told_from_the_same_name_in_a_folder(
    tmp_path: Path, example: Work
) -> None:
    root = tmp_path / "repository" / "zoo"
    shutil.copytree(example.root, root, ignore=shutil.ignore_patterns(".git"))
    outer = Work(tmp_path / "repository", example.keys)
    outer.git("init", "-q", "-b", "main")
    outer.commit()
    work = Work(root, example.keys)
    work.write(".github/workflows/ci.yml", "on: push\n")
    work.write("CODEOWNERS", "* @somebody\n")
    assert v011(work) == []
    outer.write(".github/workflows/ci.yml", "on: push\n")
    outer.write("CODEOWNERS", "* @somebody\n")
    assert v011(work) == [
        '".github/workflows/ci.yml" is added, which may run this gate',
        '"CODEOWNERS" is added, which says who must agree to a change',
    ]


def v011(work: Work) -> list[str]:
    results = work.ci()["tree"]["results"]
    return [found["message"] for each in results if each["code"] == "V011" for found in each["findings"]]
