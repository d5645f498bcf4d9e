"""Repositories that would make git run a program, and names that git or zoo could take for options.

A control shows of each trap that an ordinary git command springs it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.ci.example import Work
from tests.hostile.kit import MARKER, judge, refused
from tests.release.tiny_zoo import make_zoo

RECIPE = "recipes/fourth.yaml"


@pytest.fixture(autouse=True)
def no_marker() -> Iterator[None]:
    MARKER.unlink(missing_ok=True)
    yield
    MARKER.unlink(missing_ok=True)


def change(work: Work) -> None:
    """A small change that is judged, committed."""
    work.edit(RECIPE, "block_size: 4", "block_size: 4 # as trained")
    work.commit()


def configure(work: Work, text: str) -> None:
    with (work.root / ".git" / "config").open("a") as file:
        file.write(text.replace("MARK", f"touch {MARKER}"))


def touch(work: Work) -> None:
    """Git's index no longer knows whether the file is the same."""
    text = work.read(RECIPE)
    work.write(RECIPE, text.replace("# as trained", "# as it was trained"))


@pytest.fixture(scope="module")
def unchanged(clones: Callable[[], Work]) -> Work:
    """One clone for all tests that change nothing."""
    return clones()


# What .git/config says, and the git command that would run the program. The change can bring the attributes;
# the settings would be those of a machine that somebody prepared, or that a clone inherited.
TRAPS = {
    "file system monitor": ("[core]\n\tfsmonitor = MARK\n", ["status"]),
    "external diff": ("[diff]\n\texternal = MARK\n", ["diff"]),
    "filter of an attribute": ('[filter "evil"]\n\tclean = MARK; cat\n\trequired\n', ["add", "-A"]),
    "process of an attribute": ('[filter "evil"]\n\tprocess = MARK\n\trequired\n', ["add", "-A"]),
    "diff of an attribute": ('[diff "evil"]\n\tcommand = MARK\n', ["diff"]),
    "textconv of an attribute": ('[diff "evil"]\n\ttextconv = MARK; cat\n', ["diff"]),
    "hooks of a folder": ("[core]\n\thooksPath = hooks\n", ["add", "-A"]),
    "pager": ("[pager]\n\tdiff-index = MARK\n\tls-files = MARK\n", []),
    "alias": ("[alias]\n\tls-tree = !MARK\n\tother = !MARK\n", ["other"]),
    "fetch of what is missing": (
        '[extensions]\n\tpartialClone = x\n[remote "x"]\n\turl = ext::sh -c MARK\n\tpromisor = true\n',
        [],
    ),
    "included settings": ("[include]\n\tpath = ../evil.config\n", ["status"]),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_git_runs_nothing_that_a_repository_names(clones: Callable[[], Work], trap: str) -> None:
    settings, control = TRAPS[trap]
    work = clones()
    work.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    work.write("evil.config", f"[core]\n\tfsmonitor = touch {MARKER}\n")
    hook = work.root / "hooks" / "post-index-change"
    work.write("hooks/post-index-change", f"#!/bin/sh\ntouch {MARKER}\n")
    hook.chmod(0o755)
    change(work)
    configure(work, settings)
    touch(work)
    result = judge(work, commit=False)  # which checks that the marker is not there
    assert result.codes == {}
    assert result.verdicts == {"fourth": "passed"}
    if control:
        subprocess.run(["git", *control], cwd=work.root, capture_output=True, check=False)
        assert MARKER.exists()


def test_a_hook_of_the_clone_does_not_run(clones: Callable[[], Work]) -> None:
    work = clones()
    change(work)
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"):
        hook = work.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {MARKER}\n")
        hook.chmod(0o755)
    touch(work)
    assert judge(work, commit=False).verdicts == {"fourth": "passed"}
    work.git("add", "-A")
    assert MARKER.exists()


def embedded(folder: Path) -> None:
    """A bare repository whose settings run a program, made of plain files, as a commit can hold it."""
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True)
    with (folder / "config").open("a") as file:
        file.write(f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch {MARKER}\n")


def test_a_zoo_that_looks_like_a_repository_is_none(
    clones: Callable[[], Work], capsys: pytest.CaptureFixture[str]
) -> None:
    work = clones()
    inner = work.root / "inner"
    make_zoo(inner)
    embedded(inner)
    subprocess.run(["git", "status"], cwd=inner, capture_output=True, check=False)
    assert MARKER.exists()  # the control: git believes it
    MARKER.unlink()
    assert refused(Work(inner, work.keys)) == 2
    assert "is not in a git repository" in capsys.readouterr().err


def test_a_repository_within_the_zoo_is_not_entered(clones: Callable[[], Work]) -> None:
    work = clones()
    inner = work.root / "recipes" / "inner"
    work.write("recipes/inner/x", "x")
    for args in (
        ["init", "-q"],
        ["add", "x"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *args], cwd=inner, check=True, capture_output=True)
    work.commit()
    with (inner / ".git" / "config").open("a") as file:
        file.write(f"[core]\n\tfsmonitor = touch {MARKER}\n")
    work.write("recipes/inner/x", "y")
    assert judge(work, commit=False).codes == {"": {"V013"}}
    subprocess.run(["git", "status"], cwd=inner, capture_output=True, check=False)
    assert MARKER.exists()


def in_a_folder(work: Work) -> Work:
    """The zoo once more, in a folder of its own repository, which main has."""
    work.git("checkout", "-q", "main")
    work.git("read-tree", "--prefix=drafts-of-us/", "main")
    work.git("checkout-index", "-a")
    work.git("commit", "-qm", "moved")
    work.git("checkout", "-qb", "other")
    return Work(work.root / "drafts-of-us", work.keys)


def test_the_zoo_in_a_folder_of_a_repository_is_judged_there(clones: Callable[[], Work]) -> None:
    work = clones()
    inner = in_a_folder(work)
    inner.write("recipes/x.yaml", "name: &a x\n")
    work.write("recipes/y.yaml", "name: &a x\n")  # of another zoo, above
    result = judge(inner)
    assert result.codes == {"x": {"R002"}}
    assert '"drafts-of-us/recipes/x.yaml"' in result.forms["sarif"]


def test_what_may_run_the_gate_is_named_above_a_zoo_in_a_folder_too(clones: Callable[[], Work]) -> None:
    work = clones()
    inner = in_a_folder(work)
    work.write("src/main.py", "no file of the gate\n")
    assert judge(inner).codes == {}
    work.write(".github/workflows/ci.yml", "on: push\n")
    result = judge(inner)
    assert result.codes == {"": {"V011"}}
    assert "is added, which may run this gate" in result.forms["text"]


@pytest.mark.parametrize(
    "base",
    [
        *(
            "-x",
            "--output=stolen",
            "--all",
            "--help",
            "--end-of-options",
            "--git-dir=/etc",
            "main --output=x",
        ),
        *(
            "main..change",
            "main:recipes",
            "main^{tree}",
            ":/change",
            "../../etc/passwd",
            "$(touch x)",
            "`id`",
        ),
        *("\u202emain", "::error::x", "main\n", "x" * 100_000),
    ],
    ids=lambda base: repr(base)[:20],
)
def test_a_base_that_is_no_commit_is_refused_in_one_line(
    unchanged: Work, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(unchanged, base=base) == 2
    said = capsys.readouterr().err
    assert said.startswith("zoo: there is no commit ")
    assert len(said.splitlines()) == 2
    assert len(said) < 400
    assert not said.startswith("::")
    assert not list(unchanged.root.glob("stolen"))


@pytest.mark.parametrize("name", ["-x", "$(id)", "<script>", "x;id", "\u202emain", "@octocat"])
def test_a_branch_of_an_odd_name_is_only_a_name(clones: Callable[[], Work], name: str) -> None:
    work = clones()
    work.git("update-ref", f"refs/heads/{name}", "main")
    change(work)
    work.git("symbolic-ref", "HEAD", f"refs/heads/{name}2")
    work.git("update-ref", "HEAD", "change")
    assert judge(work, base=name, commit=False).verdicts == {"fourth": "passed"}


def test_files_called_like_options_are_only_files(clones: Callable[[], Work]) -> None:
    work = clones()
    names = ["-x", "--upload-pack=touch", "--output=x", ":(top)x", ":!x", "@{-1}"]
    for name in names:
        work.write(f"recipes/{name}.yaml", "name: &a x\n")
        work.write(f"drafts/fourth/{name}", "x")
    result = judge(work)
    assert set(names) <= set(result.verdicts)
    assert result.codes[""] == {"V014"}  # for the colons
    assert not (work.root / "x").exists()


def test_replaced_objects_and_grafts_change_nothing(
    clones: Callable[[], Work], capsys: pytest.CaptureFixture[str]
) -> None:
    work = clones()
    work.edit(RECIPE, "block_size: 4", "block_size: &bomb 4")
    work.commit()
    work.git(
        "replace",
        work.git("rev-parse", f"main:{RECIPE}").strip(),
        work.git("rev-parse", f"HEAD:{RECIPE}").strip(),
    )
    work.git("replace", "main", "HEAD")
    assert judge(work, commit=False).codes == {"fourth": {"R002"}}
    main, head = (work.git("rev-parse", each).strip() for each in ("main", "HEAD"))
    grafts = work.root / ".git" / "info" / "grafts"
    grafts.parent.mkdir(exist_ok=True)
    grafts.write_text(f"{head}\n")  # HEAD has no parents
    assert refused(work) == 2
    assert "have no commit in common" in capsys.readouterr().err
    assert main != head


def test_what_gitignore_hides_is_judged_once_it_is_committed(clones: Callable[[], Work]) -> None:
    work = clones()
    work.write(".gitignore", "*\n")
    work.write("recipes/fifth.yaml", "name: &a x\n")
    work.git("add", "-f", "recipes/fifth.yaml", ".gitignore")
    work.git("commit", "-qm", "change")
    assert judge(work, commit=False).codes == {"fifth": {"R002"}}


@pytest.mark.parametrize(("folder", "codes"), [("notes", {}), ("drafts/fourth/n", {"fourth": {"X005"}})])
def test_a_change_of_very_many_files_is_judged_in_bounded_time(
    clones: Callable[[], Work], folder: str, codes: dict[str, set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.checkpoint.listing.ENTRY_LIMIT", 1_000)  # 10,000, which only take longer
    work = clones()
    (work.root / folder).mkdir(parents=True)
    for number in range(1_001 if codes else 2_000):
        (work.root / folder / f"f{number}").write_bytes(b"")
    assert judge(work, commit=False).codes == codes
