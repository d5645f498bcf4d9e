"""What is judged is what is merged: attributes, places, settings and names that could undo that."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zoo.cli
from tests.ci.example import SECOND, Work
from tests.conftest import Ran

SECOND_CLAIM = SECOND[SECOND.index("claims:") :]
Clone = Callable[[str], Work]
Run = Callable[..., Ran]


def codes(result: dict[str, Any]) -> set[str]:
    """Of the change as a whole."""
    return {each["code"] for found in result["tree"]["results"] for each in found["findings"]}


@pytest.mark.parametrize(
    ("attributes", "file"),
    [
        ("*.safetensors ident", "drafts/second/model.safetensors"),
        ("README.md working-tree-encoding=JOHAB", "release/tiny/1.0.0/README.md"),
        ("*.yaml eol=crlf", "recipes/tiny.yaml"),
        ("* ident", "checkpoint/config.json"),
    ],
    ids=["ident", "encoding", "line-ends", "very-many"],
)
def test_attributes_that_rewrite_a_checkout_are_refused(clone: Clone, attributes: str, file: str) -> None:
    work = clone("main")
    work.write(".gitattributes", f"{attributes}\n")
    work.commit()
    result = work.ci()
    assert result["exit"] == 1
    found = [
        each for rule in result["tree"]["results"] for each in rule["findings"] if rule["code"] == "V020"
    ]
    assert file in {each["where"]["file"] for each in found}


def test_attributes_that_leave_a_checkout_as_it_is_are_no_matter(clone: Clone) -> None:
    work = clone("main")
    work.write(
        ".gitattributes",
        "* text=auto eol=lf\n*.json -text\n*.pdf filter=lfs diff=lfs merge=lfs -text\n*.bat eol=crlf\n",
    )
    work.write("tools/build.bat", "rem no file of the zoo\n")
    work.commit()
    result = work.ci()
    assert (result["exit"], codes(result)) == (0, set())


@pytest.mark.parametrize("place", ["./templates/w", "./release/w", "./recipes/w", "{root}/drafts/second"])
def test_a_checkpoint_has_a_folder_of_its_own(clone: Clone, place: str) -> None:
    """Where changes of its files would be taken for something else, or for nothing."""
    work = clone("main")
    source = place.format(root=work.root)
    for file in ("config.json", "model.safetensors", "report.pdf"):
        if not source.startswith("/"):
            work.write(f"{source}/{file}", (work.root / "drafts/second" / file).read_bytes())
    work.edit("recipes/second.yaml", "./drafts/second", source)
    work.commit()
    result = work.ci()
    second = next(each for each in result["drafts"] if each["name"] == "second")
    assert (result["exit"], second["verdict"]) == (2, "not checked")
    reasons = {each["reason"] for each in second["report"]["results"] if each["reason"]}
    assert any("is no place for a checkpoint" in reason for reason in reasons)


def test_settings_that_a_change_takes_away_do_not_leave_the_zoo_to_those_above(
    clone: Clone, run_zoo: Run
) -> None:
    work = clone("signed")
    work.git("read-tree", "--prefix=ours/", "HEAD")
    work.git("checkout-index", "-a")
    for path in ("zoo.toml", "recipes", "release", "drafts", "checkpoint", "keys"):
        work.git("rm", "-rq", "--cached", path)
    work.git("commit", "-qm", "moved")
    work.git("branch", "-f", "base")
    work.git("clean", "-fdxq")
    work.git("checkout", "-qb", "moving")
    work.git("mv", "ours/zoo.toml", "zoo.toml")
    work.write("zoo.toml", "")
    work.commit()
    ran = run_zoo("--zoo", work.root / "ours", "ci", "--base", "base")
    assert (ran.status, "has no settings of a zoo" in ran.err) == (2, True)
    ran = run_zoo("--zoo", work.root, "ci", "--base", "base")
    assert (ran.status, "and the change removes them" in ran.err) == (2, True)


def test_a_base_that_is_a_branch_and_a_tag_is_refused(clone: Clone, run_zoo: Run) -> None:
    work = clone("main")
    work.commit()
    work.git("tag", "main", "HEAD")
    ran = run_zoo("--zoo", work.root, "ci", "--base", "main")
    assert ran.status == 2
    assert '"main" is ambiguous: refs/heads/main, refs/tags/main' in ran.err
    assert run_zoo("--zoo", work.root, "ci", "--base", "refs/heads/main").status == 0


def test_large_weights_of_a_published_version_are_hashed_too(
    clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.ci.files._LOCAL", 1_000)
    work = clone("main")
    work.weights("checkpoint")
    work.commit()
    result = work.ci()
    tiny = next(each for each in result["drafts"] if each["name"] == "tiny")
    assert (result["exit"], tiny["verdict"]) == (1, "failed")
    assert "V001" in {each["code"] for rule in tiny["report"]["results"] for each in rule["findings"]}


@pytest.mark.parametrize("folder", ["checkpoint", "drafts/second"])
def test_weights_that_cannot_be_hashed_stop_the_change_that_brings_them(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """As on a server that states no sha256 of a large file: neither V001 nor the evidence can be told."""
    monkeypatch.setattr("zoo.ci.files._sha256", lambda *_: None)
    work = clone("main")
    assert work.ci()["exit"] == 0
    work.weights(folder)
    work.commit()
    assert work.ci()["exit"] == 2


def test_a_record_that_is_taken_away_is_named(clone: Clone) -> None:
    work = clone("main")
    work.edit("recipes/second.yaml", SECOND_CLAIM, "")
    work.remove("release/second/0.1.0/evidence/replay-held-out.json")
    work.card("second")
    work.commit()
    result = work.ci()
    second = next(each for each in result["drafts"] if each["name"] == "second")
    found = [each for rule in second["report"]["results"] for each in rule["findings"]]
    assert ("V021", "warning") in {(each["code"], each["severity"]) for each in found}


def test_files_in_too_many_folders_are_named_and_cost_nothing(clone: Clone) -> None:
    work = clone("main")
    folder = "release/second/" + "/".join(["d"] * 400)
    for number in range(20):
        work.write(f"{folder}/{number}.txt", "x")
    work.commit()
    result = work.ci()
    assert result["exit"] == 1
    messages = [each["message"] for rule in result["tree"]["results"] for each in rule["findings"]]
    assert sum("more than 32 folders deep" in each for each in messages) == 10  # and 10 more like this


def test_a_record_with_very_many_faults_is_refused_by_its_first(clone: Clone) -> None:
    work = clone("main")
    path = "release/second/0.1.0/evidence/replay-many.json"
    record = json.loads(work.read("release/second/0.1.0/evidence/replay-held-out.json"))
    work.write(path, json.dumps(record | {"subject": "many", "results": [{}] * 45_000}))
    work.commit()
    result = work.ci()
    second = next(each for each in result["drafts"] if each["name"] == "second")
    found = [
        each for rule in second["report"]["results"] for each in rule["findings"] if each["code"] == "K005"
    ]
    assert 1 <= len(found) <= 10
    work.write(path, json.dumps(record | {"subject": "many", "results": [0] * 60_000}))
    second = next(each for each in work.ci()["drafts"] if each["name"] == "second")
    assert "more than 50,000 values" in json.dumps(second)


def test_a_report_that_cannot_be_written_is_not_left_in_part(clone: Clone, tmp_path: Path) -> None:
    work = clone("main")
    status = zoo.cli.run(["--zoo", str(work.root), "ci", "--base", "main", "--write", "json=/dev/full"])
    assert status == 2
    status = zoo.cli.run(["--zoo", str(work.root), "ci", "--base", "main", "--write", f"json={tmp_path}"])
    assert status == 2
