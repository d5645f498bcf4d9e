"""Commands to the runner of a workflow (``::add-mask::x``, ``##[error]x``) in what a pull request says.

Of what ``zoo`` prints, only the annotations that it makes itself are any.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ci.example import Work
from tests.conftest import Ran
from tests.hostile.outputs import RECIPE, Shown, copy_of, renamed_tensor, show, talk
from tests.report import checks
from tests.report.runner import commands
from zoo.ci.render import FORMS

Clone = Callable[[str], Work]
Run = Callable[..., Ran]
COMMANDS = ("::set-output name=x::y", "::add-mask::x", "::error::x", "::stop-commands::x", "##[add-path]x")
# What may stand before a command for a runner to take it, or to be made such by who prints it.
LEADS = {
    "nothing": "",
    "spaces": "   ",
    "a tab": "\t",
    "a line feed": "ok\n",
    "a return": "ok\r",
    "an escaped line feed": "ok%0A",
    "a twice escaped line feed": "ok%250A",
    "U+0085": "ok\u0085",
    "U+2028": "ok\u2028",
    "a byte order mark": "\ufeff",
    "a no-break space": "\u00a0",
}


@pytest.fixture(scope="module")
def plain(example: Work, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The same change with plain words."""
    work = copy_of(example, tmp_path_factory.mktemp("plain") / "zoo")
    talk(work, "words")
    return show(work, card=True)


def annotations(shown: Shown) -> list[tuple[str, str]]:
    return [(each.name, each.properties["title"]) for each in commands(shown.judged.forms["github"])]


@pytest.mark.parametrize("lead", LEADS)
def test_commands_in_the_words_of_a_recipe_are_words(clone: Clone, plain: Shown, lead: str) -> None:
    work = clone("main")
    text = " ".join(LEADS[lead] + command for command in COMMANDS)
    line = "".join(char for char in text if char >= " ")
    talk(work, line, text)
    shown = show(work, card=True)
    assert shown.judged.codes == plain.judged.codes
    assert annotations(shown) == annotations(plain)
    (waived,) = shown.messages("V012")
    assert waived.startswith("E007 is waived until 2027-03-01: ")
    assert "add-mask" in waived


def test_commands_in_names_of_files_are_refused_by_name(clone: Clone) -> None:
    work = clone("main")
    for number, command in enumerate(COMMANDS):
        work.write(f"recipes/prompts/{command}.jsonl", "{}")
        work.write(f"release/fourth/{number}/{command}\r{command}", "x")
        work.write(f"{command}/x", "outside of the zoo")
    shown = show(work)
    assert len(shown.messages("V014")) == 2 * len(COMMANDS)
    assert {each.name for each in commands(shown.judged.forms["github"])} == {"error"}


def test_commands_in_a_config_and_in_names_of_tensors_are_words(clone: Clone) -> None:
    work = clone("main")
    hostile = {command: f"\n{command}" for command in COMMANDS}
    work.json("drafts/fourth/config.json", lambda config: config.update(hostile, model_type=COMMANDS[0]))
    for command in COMMANDS:
        renamed_tensor(work, "drafts/fourth", f"\n{command}")
    shown = show(work)
    assert shown.judged.verdicts["fourth"] == "failed"
    assert "add-mask" in shown.out


def test_commands_in_evidence_and_in_the_log_of_releases_are_words(clone: Clone) -> None:
    work = clone("main")
    work.json(work.record("fourth"), lambda record: record["inputs"].update(about="\r::add-mask::x"))
    work.write("release/fourth/1.0.0/evidence/replay-other.json", '{"::error::x": "\\n##[error]x"}')
    work.log("tiny", lambda events: events[0].update(ref="\n::add-mask::x", target="::error::y"))
    shown = show(work)
    assert shown.judged.exit == 1


@pytest.mark.parametrize("form", FORMS)
def test_on_stdout_a_form_holds_no_command_of_the_change(clone: Clone, run_zoo: Run, form: str) -> None:
    work = clone("main")
    talk(work, "::add-mask::x ##[error]x", "ok\n\n::add-mask::x\r::error::y")
    ran = run_zoo("--zoo", work.root, "ci", "--base", "main", "--format", form)
    found = commands(ran.out)
    assert commands(ran.err) == []
    assert {each.name for each in found} == ({"error", "warning"} if form == "github" else set())
    assert not any(each.data.startswith(("::", "##[")) for each in found)
    assert "add-mask" in ran.out


@pytest.mark.parametrize(
    "args",
    [
        ("--base", "::add-mask::x"),
        ("--base", "a\n::add-mask::x"),
        ("--format", "\n::add-mask::x"),
        ("--write", "\n::add-mask::x"),
        ("--hub-pr", "\r::add-mask::x"),
        ("--now", "\n##[error]x"),
        ("a\n::add-mask::x",),
        ("--\n::add-mask::x",),
    ],
)
def test_an_argument_that_is_refused_commands_nothing(
    clone: Clone, run_zoo: Run, args: tuple[str, ...]
) -> None:
    ran = run_zoo("--zoo", clone("main").root, "ci", *args)
    assert ran.status == 2
    for text in (ran.out, ran.err):
        checks.commands_nothing(text)
        checks.is_shown_as_it_is(text)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("zoo.toml", '"::add-mask::x" = 1\n"##[error]x" = "\\n::error::y"\n'),
        ("zoo.toml", "\n::add-mask::x\r::error::x\n"),
        ("templates/card.md.j2", "{% ::add-mask::x\n::error::y %}"),
        ("templates/card.md.j2", "\n::add-mask::x\n##[error]y"),
        (RECIPE, "::add-mask::x: [\n##[error]x"),
        ("recipes/targets/tiny-target.yaml", "'::add-mask::x': '\n\n::error::x'\n"),
        ("release/second/log.jsonl", '{"event": "published", "version": "\\n::add-mask::x"}\n'),
    ],
)
def test_what_cannot_be_read_is_told_without_a_command(
    clone: Clone, run_zoo: Run, tmp_path: Path, path: str, content: str
) -> None:
    work = clone("main")
    work.write(path, content)
    work.commit()
    for args in (("ci", "--base", "main", "--write", f"json={tmp_path / 'json'}"), ("card", "fourth")):
        ran = run_zoo("--zoo", work.root, *args)
        assert ran.status in (1, 2) or args[0] == "card"
        for text in (ran.out, ran.err):
            checks.commands_nothing(text)
            checks.is_shown_as_it_is(text)


def test_json_keeps_the_words_and_still_commands_nothing(clone: Clone) -> None:
    work = clone("main")
    talk(work, "::add-mask::x ##[error]x")
    shown = show(work)
    diff = next(each for each in shown.judged.result["drafts"] if each["name"] == "fourth")["diff"]
    assert "::add-mask::x ##[error]x" in json.dumps(diff)
    assert "##[" not in shown.judged.forms["json"]
