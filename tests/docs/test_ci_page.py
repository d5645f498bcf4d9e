"""docs/ci.md is true: its commands run one after the other, in one shell, from an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub.community import DiscussionComment

from tests.action.runner import document, run_step, steps
from tests.ci.test_hub_change import FILES, propose, uploaded  # noqa: F401
from tests.conftest import REPOSITORY
from tests.release.conftest import _template, place  # noqa: F401
from tests.release.hub_place import HubPlace, hub, on_hub  # noqa: F401
from zoo.report.comment import MARK

PAGE = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.*)$", PAGE, re.MULTILINE)
EXAMPLE = REPOSITORY / "docs" / "example-zoo"
HUB = "zoo ci --hub-pr acme/my-draft#1 --comment"
_EXITS = re.compile(r"\s+# exits (\d)$")


def test_the_commands_of_the_page_run_one_after_the_other(tmp_path: Path) -> None:
    commands = [each for each in COMMANDS if each != HUB]
    assert len(commands) == len(COMMANDS) - 1 > 40
    lines = []
    for command in commands:
        expected = _EXITS.search(command)
        plain = _EXITS.sub("", command)
        status = expected[1] if expected else "0"
        # The name of what failed is the last line of the log.
        check = f'[[ $? == {status} ]] || {{ echo "FAILED" {shlex.quote(plain)}; exit 1; }}'
        lines += [f"echo {shlex.quote(f'$ {plain}')}", plain, check]
    ran = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "HF_HUB_OFFLINE": "1",
            "DRAFT_ZOO": str(REPOSITORY),
            "OWNER": "acme",
            "REVIEWERS": "@alice",
            "COMMIT": "0123456789abcdef" * 2 + "01234567",
            **{
                f"GIT_{who}_{what}": "a@example.org"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
    workflow = (tmp_path / "my-zoo" / ".github" / "workflows" / "draft-zoo.yml").read_text()
    assert "uses: acme/draft-zoo@0123456789abcdef0123456789abcdef01234567 # v0.1.0" in workflow
    zoo = tmp_path / "my-zoo"
    left = [line for file in EXAMPLE.rglob("*") for line in placeholders(zoo / file.relative_to(EXAMPLE))]
    assert left == ['        description: "OWNER/NAME#N of the Hub"']
    for name in ("README.md", "zoo.toml"):
        assert "https://github.com/acme/draft-zoo/blob/main/docs/" in (zoo / name).read_text()
    owners = (zoo / ".github" / "CODEOWNERS").read_text()
    assert re.findall(r"^/zoo.toml +(.*)$", owners, re.MULTILINE) == ["@alice"]
    assert (tmp_path / "my-zoo" / ".git" / "hooks" / "pre-commit").exists()
    for code in ("K001", "V011", "R021", "R020"):
        assert code in ran.stdout
    assert "waived" in ran.stdout


def placeholders(file: Path) -> list[str]:
    """Lines of a copied file in which something still stands for a name or a commit."""
    if not file.is_file() or file.suffix == ".safetensors":
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if re.search(r"OWNER/|0{40}", line)]


def test_the_command_for_the_hub_runs_on_a_hub(uploaded: HubPlace, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    weights = (uploaded.place.checkpoint / FILES[1]).read_bytes()
    propose(uploaded.api, uploaded.repo, {FILES[1]: weights[:-1] + bytes([weights[-1] ^ 1])})
    monkeypatch.chdir(uploaded.place.root)
    monkeypatch.setenv("HF_TOKEN", uploaded.hub.token)
    args = shlex.split(HUB.removeprefix("zoo ").replace("acme/my-draft", uploaded.repo))
    ran = uploaded.place.run(*args, "--endpoint", uploaded.url)
    assert ran.status == 0, ran.err
    events = uploaded.api.get_discussion_details(uploaded.repo, 1).events
    said = [
        event for event in events if isinstance(event, DiscussionComment) and event.content.startswith(MARK)
    ]
    assert len(said) == 1


def test_the_workflow_for_the_hub_says_the_same_there(uploaded: HubPlace, tmp_path: Path) -> None:  # noqa: F811
    propose(uploaded.api, uploaded.repo, {FILES[2]: b"%PDF-1.7 another report"})
    step = steps(REPOSITORY / "docs/example-zoo/.github/workflows/hub.yml", "judge")["Judge it, and say so"]
    ran = run_step(
        step,
        uploaded.place.root,
        tmp_path,
        expressions={
            "steps.zoo.outputs.command": str(Path(sys.executable).parent / "zoo"),
            "inputs.pull-request": f"{uploaded.repo}#1",
            "secrets.HF_TOKEN": uploaded.hub.token,
        },
        env={"HF_ENDPOINT": uploaded.url, "HF_HUB_OFFLINE": "0"},
    )
    assert "posted a comment" in ran.log, ran.log
    assert uploaded.hub.token not in ran.log
    assert ran.status == 0


def test_the_tables_have_every_input_and_output_of_the_action() -> None:
    action = document(REPOSITORY / "action.yml")
    inputs, outputs = PAGE.split("| input |")[1].split("| output |")
    defaults = dict(re.findall(r"^\| `([\w-]+)` \| (.*?) \|", inputs, re.MULTILINE))
    assert set(defaults) == set(action["inputs"])
    for name, stated in action["inputs"].items():
        assert not stated["default"] or defaults[name] == f"`{stated['default']}`"
    listed = outputs.split("\n\n")[0]
    assert set(re.findall(r"`([a-z]+)`(?=[,| ])", listed)) >= set(action["outputs"])


def test_the_page_names_only_files_that_exist() -> None:
    for path in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (REPOSITORY / "docs" / path).exists(), path
