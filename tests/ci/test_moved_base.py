"""A base that has gone further since the change left it: how far is said, and what it published meanwhile."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.ci.example import Work
from tests.conftest import Ran
from zoo.ci import git

Clone = Callable[[str], Work]
SECOND = "recipes/second.yaml"


def findings(said: dict[str, Any], code: str) -> list[str]:
    """The messages under ``code``, of all recipes."""
    results = [each for draft in said["drafts"] for each in draft["report"]["results"]]
    return [found["message"] for each in results if each["code"] == code for found in each["findings"]]


def on_main(work: Work, *edits: Callable[[Work], object]) -> None:
    """One commit on main for each edit, while the change waits."""
    work.git("checkout", "-q", "main")
    for edit in edits:
        edit(work)
        work.commit()
    work.git("checkout", "-q", "change")


def release_second(work: Work) -> None:
    work.zoo("release", "second", "--push")


def change_second(work: Work) -> None:
    work.edit(SECOND, "A second tiny draft", "Another tiny draft")
    work.card("second")
    work.commit()


def test_a_version_that_main_published_meanwhile_stops_the_change(clone: Clone) -> None:
    work = clone("main")
    change_second(work)
    assert work.ci()["exit"] == 0
    on_main(work, release_second)
    said = work.ci()
    assert said["exit"] == 1
    assert findings(said, "V001") == ["second 0.1.0 was published on main meanwhile"]
    assert [draft["verdict"] for draft in said["drafts"]] == ["failed"]
    (hint,) = [
        found["hint"]
        for each in said["drafts"][0]["report"]["results"]
        if each["code"] == "V001"
        for found in each["findings"]
    ]
    assert hint.startswith("merge main into this branch")


def test_another_version_than_the_published_one_is_left_alone(clone: Clone) -> None:
    work = clone("main")
    work.edit(SECOND, "version: 0.1.0", "version: 0.2.0")
    work.record("second")
    work.card("second")
    work.commit()
    on_main(work, release_second)
    said = work.ci()
    assert findings(said, "V001") == []
    assert said["exit"] == 0


def test_a_draft_that_the_change_does_not_touch_is_left_alone(clone: Clone) -> None:
    work = clone("main")
    work.edit("recipes/fourth.yaml", "block_size: 4", "block_size: 4 # as trained")
    work.commit()
    on_main(work, release_second)
    assert findings(work.ci(), "V001") == []


def test_a_merge_brings_the_release_and_ends_the_finding(clone: Clone) -> None:
    work = clone("main")
    work.write(SECOND, work.read(SECOND) + "# a comment\n")
    work.commit()
    on_main(work, release_second)
    assert findings(work.ci(), "V001")
    work.git("merge", "-q", "-m", "Merge main", "main")
    said = work.ci()
    assert (said["exit"], said["base_ahead"], findings(said, "V001")) == (0, 0, [])


def test_every_form_says_how_far_the_base_is(clone: Clone) -> None:
    work = clone("main")
    change_second(work)
    forms = {form: work.keys / f"{form}.out" for form in ("text", "markdown", "comment")}
    writes = [word for form, file in forms.items() for word in ("--write", f"{form}={file}")]
    assert work.ci(*writes)["base_ahead"] == 0
    assert not any("further" in file.read_text() for file in forms.values())
    on_main(work, *[lambda work: None] * 3)
    assert work.ci(*writes)["base_ahead"] == 3
    assert "\nmain is 3 commits further\n" in forms["text"].read_text()
    for form in ("markdown", "comment"):
        assert " `main` is 3 commits further.\n" in forms[form].read_text()
    on_main(work, *[lambda work: None] * 1)
    work.git("merge", "-q", "-m", "Merge", "main~1")
    work.ci(*writes)
    assert "main is 1 commit further\n" in forms["text"].read_text()


def test_a_branch_that_only_origin_has_is_offered(
    clone: Clone, tmp_path: Path, run_zoo: Callable[..., Ran]
) -> None:
    work = clone("main")
    change_second(work)
    here = tmp_path / "here"
    subprocess.run(["git", "clone", "-q", "-b", "change", work.root, here], check=True)
    ran = run_zoo("--zoo", here, "ci", "--base", "main")
    assert ran.status == 2
    assert "zoo ci --base origin/main" in ran.err
    ran = run_zoo("--zoo", here, "ci", "--base", "origin/main", "--format", "json")
    assert json.loads(ran.out)["base"] == "origin/main"


def test_where_the_zoo_lies_is_asked_once(clone: Clone, monkeypatch: Any) -> None:
    work = clone("main")
    change_second(work)
    asked: list[str] = []
    run = git.Repository._run

    def counted(self: git.Repository, *args: str, **more: Any) -> bytes:
        asked.append(" ".join(args))
        return run(self, *args, **more)

    monkeypatch.setattr(git.Repository, "_run", counted)
    work.ci()
    assert len([each for each in asked if "--show-prefix" in each]) == 1
