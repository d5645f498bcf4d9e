"""The second step of the action, under bash: good, bad and hostile pull requests to the example zoo."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.action.conftest import RECIPE, Desk
from zoo.report.comment import MARK

FORMS = {"summary": "summary.md", "comment": "comment.md", "json": "zoo-ci.json", "sarif": "zoo-ci.sarif"}
FORMS |= {"junit": "zoo-ci.xml"}
# A branch may be called so; a shell that took them for words of its own would leave a file behind.
BRANCHES = ("-rf$(touch${IFS}pwned)`touch${IFS}pwned`", "'\";touch${IFS}pwned;")


def good_change(desk: Desk) -> None:
    desk.work.edit(RECIPE, "title: An example draft", "title: A better example")
    desk.work.card("example-draft")


def test_a_good_pull_request_passes_with_all_its_outputs(desk: Desk) -> None:
    good_change(desk)
    desk.propose()
    ran = desk.judge()
    assert ran.status == 0, ran.log
    assert (ran.outputs["verdict"], ran.outputs["status"]) == ("passed", "0")
    folder = Path(ran.outputs["folder"])
    assert folder.is_relative_to(desk.temp)
    assert {name: Path(ran.outputs[name]) for name in FORMS} == {k: folder / v for k, v in FORMS.items()}
    assert all(Path(ran.outputs[name]).stat().st_size > 100 for name in FORMS)
    assert ran.summary == Path(ran.outputs["summary"]).read_text()
    assert Path(ran.outputs["comment"]).read_text().startswith(MARK)
    assert "passed" in ran.summary
    assert "1 recipe affected" in ran.log  # not later.yaml, which only main has
    assert {each.name for each in ran.commands} <= {"group", "endgroup", "warning", "notice"}
    assert ran.files["GITHUB_ENV"] == ran.files["GITHUB_PATH"] == ""


def test_a_bad_pull_request_fails_at_the_line_of_the_recipe(desk: Desk) -> None:
    desk.work.edit(RECIPE, "tensors: 14", "tensors: 15")
    desk.propose()
    ran = desk.judge(not_checked="pass")
    assert ran.status == 1
    assert (ran.outputs["verdict"], ran.outputs["status"]) == ("failed", "1")
    line = next(i for i, text in enumerate(desk.work.read(RECIPE).splitlines(), 1) if "tensors: 15" in text)
    places = {(each.properties.get("file"), each.properties.get("line")) for each in ran.annotations("error")}
    assert (RECIPE, str(line)) in places
    assert "failed" in ran.summary


def test_what_could_not_be_checked_is_red_unless_the_input_says_otherwise(desk: Desk) -> None:
    desk.work.edit(RECIPE, "./drafts/example-draft", "hf://acme/draft@" + "0" * 40)
    desk.work.card("example-draft")
    desk.propose()
    ran = desk.judge()
    assert (ran.status, ran.outputs["verdict"], ran.outputs["status"]) == (2, "not checked", "2")
    ran = desk.judge(not_checked="pass")
    assert (ran.status, ran.outputs["verdict"], ran.outputs["status"]) == (0, "not checked", "2")
    assert [each.data for each in ran.annotations("notice")][-1].startswith("not checked")
    ran = desk.judge(not_checked="passed")
    assert ran.status == 2
    assert "write fail or pass" in ran.annotations("error")[0].data


def test_a_shallow_checkout_is_told_what_to_do_and_never_passes(desk: Desk) -> None:
    good_change(desk)
    desk.propose(shallow=True)
    ran = desk.judge(not_checked="pass")
    assert ran.status == 2
    [error] = ran.annotations("error")
    assert "fetch-depth: 0" in error.data
    assert "fetch-depth: 0" in ran.summary
    assert ran.outputs["verdict"] == "not checked"
    assert not ran.outputs.keys() & FORMS.keys()


def test_an_event_without_a_base_is_refused_and_a_merge_queue_has_one(desk: Desk) -> None:
    good_change(desk)
    desk.propose()
    ran = desk.judge(base_ref="")
    assert ran.status == 2
    assert "pull_request" in ran.annotations("error")[0].data
    queue = desk.work.git("rev-parse", "origin/main").strip()
    assert desk.judge(base_ref="", queue=queue).outputs["verdict"] == "passed"
    assert desk.judge(base_ref="nope", base="origin/main").outputs["verdict"] == "passed"


def test_a_zoo_in_a_folder_of_the_workspace_is_annotated_from_the_root_of_the_repository(desk: Desk) -> None:
    for each in sorted(desk.work.root.iterdir()):
        if each.name != ".git":
            target = desk.work.root / "my drafts" / each.name
            target.parent.mkdir(exist_ok=True)
            each.rename(target)
    desk.work.edit(f"my drafts/{RECIPE}", "tensors: 14", "tensors: 15")
    desk.propose()
    ran = desk.judge(folder="work space/my drafts", where=desk.workspace.parent)
    assert ran.status == 1
    assert f"my drafts/{RECIPE}" in {each.properties.get("file") for each in ran.annotations("error")}


def test_a_folder_that_is_no_zoo_is_told_of_the_input_that_names_one(desk: Desk) -> None:
    desk.propose()
    ran = desk.judge(folder=".", where=desk.workspace.parent)
    assert ran.status == 2
    [error] = ran.annotations("error")
    assert "is not inside a zoo" in error.data
    assert "the input zoo names its folder in the workspace" in error.data
    assert "the input zoo names its folder" in ran.summary


def test_no_code_of_the_pull_request_runs_even_where_it_is_called_like_the_tool(desk: Desk) -> None:
    for module in ("zoo/__init__", "zoo/__main__", "click", "sitecustomize", "usercustomize", "pip"):
        desk.work.write(f"{module}.py", "open('pwned', 'w').close()\nraise SystemExit(0)\n")
    desk.work.write(".python-version", "0.0\n")
    desk.work.write("pyvenv.cfg", "home = /nowhere\n")
    good_change(desk)
    desk.propose()
    ran = desk.judge(env={"PYTHONPATH": ".", "PYTHONSTARTUP": "click.py"})
    assert ran.outputs["verdict"] == "passed", ran.log
    assert not list(desk.temp.parent.rglob("pwned"))


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_with_a_hostile_name_is_only_a_name(desk: Desk, name: str) -> None:
    good_change(desk)
    desk.work.git("push", "-q", "origin", f"main:refs/heads/{name}", f"change:refs/heads/{name}-change")
    desk.work.git("fetch", "-q", "origin")
    desk.propose(base=name)
    ran = desk.judge(base_ref=name)
    assert ran.outputs["verdict"] == "passed", ran.log
    assert not list(desk.temp.parent.rglob("pwned"))
    assert json.loads(Path(ran.outputs["json"]).read_text())["base"] == f"origin/{name}"


def test_a_base_that_is_none_is_one_annotation_and_nothing_else(desk: Desk) -> None:
    good_change(desk)
    desk.propose()
    for base in (
        "--help",
        "x\nverdict=passed\n::set-output name=verdict::passed",
        "$(touch pwned)",
        "%0A::error::x",
    ):
        ran = desk.judge(base=base)
        assert (ran.status, ran.outputs["verdict"], ran.outputs["status"]) == (2, "not checked", "2"), base
        assert [each.name for each in ran.commands] == ["group", "endgroup", "error"], base
        assert f'there is no commit "{base[:1]}' in ran.annotations("error")[0].data, base
    assert base in ran.annotations("error")[0].data
    assert not list(desk.temp.parent.rglob("pwned"))


def test_files_with_hostile_names_say_nothing_to_the_runner(desk: Desk) -> None:
    folder = "release/example-draft/0.1.0"
    names = [
        "::error::x%0A::set-env name=A::b.json",
        "a\n::add-mask::pwned.json",
        "##[add-path]x.json",
        "`$(touch pwned)`",
    ]
    for name in names:
        desk.work.write(f"{folder}/{name}", "{}")
    good_change(desk)
    desk.propose()
    ran = desk.judge()
    assert ran.outputs["verdict"] == "failed", ran.log
    assert {each.name for each in ran.commands} <= {"group", "endgroup", "error", "warning", "notice"}
    assert {each.properties.get("title", "").partition(" ")[0] for each in ran.annotations("error")} == {
        "V014"
    }
    assert "pwned.json" not in {line.strip() for line in ran.summary.splitlines()}
    assert not list(desk.temp.parent.rglob("pwned"))


def stand_in(desk: Desk, script: str) -> None:
    """What stands where the tool is installed, instead of it: a script of a shell. $json: the file that it is
    told to write, as JSON."""
    venv = desk.temp / "draft-zoo" / "venv"
    if venv.is_symlink():
        venv.unlink()
    python = venv / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f'#!/bin/sh\nfor json; do :; done\njson="${{json#json=}}"\n{script}\n')
    python.chmod(0o755)
    desk.workspace.mkdir(exist_ok=True)


def test_no_verdict_is_red_even_where_the_tool_ends_well(desk: Desk) -> None:
    for written in ("", ': > "$json"'):
        stand_in(desk, f"echo all is well; {written}\nexit 0")
        for setting in ("fail", "pass"):
            ran = desk.judge(not_checked=setting)
            assert ran.status == 2, (written, setting)
            [error] = ran.annotations("error")
            assert error.data == "zoo ci ended with exit status 0 and said nothing"
            assert not ran.outputs.keys() & FORMS.keys()
            assert ran.summary.startswith("## Draft zoo: could not check\n")


def test_an_exit_status_that_nobody_knows_is_red(desk: Desk) -> None:
    for status in (3, 130, 137):
        stand_in(desk, f"exit {status}")
        ran = desk.judge(not_checked="pass")
        assert (ran.status, ran.outputs["verdict"]) == (status, "not checked")


def test_whatever_the_log_says_is_no_command_to_the_runner(desk: Desk) -> None:
    """And what ends that is another word in each run."""
    hostile = ["::error::x", "::add-mask::e", "  ::set-output name=verdict::passed", "##[error]x", "::end::"]
    stand_in(desk, "\n".join([*(f"echo '{each}'; echo '{each}' >&2" for each in hostile), "exit 2"]))
    words = set()
    for _ in range(2):
        ran = desk.judge()
        lines = ran.log.splitlines()
        assert all(lines.count(each) == 2 for each in hostile)
        assert [each.name for each in ran.commands] == ["group", "endgroup", "error"]
        begin = lines.index("::group::zoo ci") + 1
        word = lines[begin].removeprefix("::stop-commands::")
        end = lines.index(f"::{word}::")
        assert max(i for i, line in enumerate(lines) if line in hostile) < end
        assert lines[end + 1] == "::endgroup::"
        words.add(word)
    assert len(words) == 2
    assert all(len(set(word)) > 4 and len(word) >= 32 and word.isalnum() for word in words)


def test_what_the_tool_said_at_last_is_one_annotation_with_all_its_lines(desk: Desk) -> None:
    stand_in(desk, "printf 'one 100%%0A\\r::warning::two\\n# three\\n\\n::error::four\\n' >&2\nexit 2")
    ran = desk.judge()
    assert ran.status == 2
    assert [each.name for each in ran.commands] == ["group", "endgroup", "error"]
    [error] = ran.annotations("error")
    assert error.data == "one 100%0A\r::warning::two\n# three\n\n::error::four"


def test_what_the_tool_said_at_last_is_code_in_the_summary(desk: Desk) -> None:
    lines = ["# one", "", "<b>two</b>", "- three"]
    stand_in(desk, "\n".join([*(f"echo '{line}' >&2" for line in lines), "exit 2"]))
    shown = "".join(f"    {line}\n" for line in lines)
    assert desk.judge().summary == f"## Draft zoo: could not check\n\n{shown}"


def test_an_error_is_red_also_where_another_draft_could_not_be_checked(desk: Desk) -> None:
    text = desk.work.read(RECIPE)
    far = text.replace("example-draft", "far-draft").replace(
        "./drafts/far-draft", "hf://acme/draft@" + "0" * 40
    )
    desk.work.write("recipes/far-draft.yaml", far)
    desk.work.card("far-draft")
    desk.work.edit(RECIPE, "tensors: 14", "tensors: 15")
    desk.propose()
    ran = desk.judge(not_checked="pass")
    assert (ran.status, ran.outputs["verdict"], ran.outputs["status"]) == (1, "failed", "1")
    result = json.loads(Path(ran.outputs["json"]).read_text())
    assert {each["name"]: each["verdict"] for each in result["drafts"]} == {
        "example-draft": "failed",
        "far-draft": "not checked",
    }


def test_a_log_that_ends_within_a_line_hides_no_annotation(desk: Desk) -> None:
    stand_in(desk, "printf 'no end of line'; exit 2")
    assert [each.name for each in desk.judge().commands] == ["group", "endgroup", "error"]


def test_a_return_does_not_leave_the_code_block_of_the_summary(desk: Desk) -> None:
    stand_in(desk, "printf 'one\\r# two\\n' >&2; exit 2")
    assert desk.judge().summary.splitlines()[-1] == "    one # two"
