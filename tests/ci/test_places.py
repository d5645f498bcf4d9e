"""Where a finding is said to be, what to do about it, and which side of a comparison is which."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ci.example import Work
from tests.ci.history import good_new_draft, without_a_tensor
from tests.conftest import Ran
from tests.report.runner import commands

Clone = Callable[[str], Work]


def test_an_annotation_begins_at_the_very_character_and_says_what_to_do(clone: Clone) -> None:
    work = clone("main")
    work.edit("recipes/fourth.yaml", "tensors: 25", "tensors: 26")
    file = work.keys / "places.github"
    [draft] = work.ci("--write", f"github={file}")["drafts"]
    found = [each for rule in draft["report"]["results"] for each in rule["findings"]]
    shown = commands(file.read_text())
    assert len(shown) == len(found) == 2
    lines = work.read("recipes/fourth.yaml").splitlines()
    for each in shown:
        line, column = (int(each.properties[key]) for key in ("line", "col"))
        assert lines[line - 1][column - 1 :] == "tensors: 26"
    for each in found:
        [data] = [one.data for one in shown if one.data.startswith(each["message"] + "\n")]
        assert data.endswith(f"\n-> {each['hint']}")


def test_the_base_is_the_left_side_and_the_change_the_right(clone: Clone) -> None:
    work = clone("main")
    old, new = "A tiny draft", "A better draft"
    for name in ("third", "fourth"):  # the files of third are out of reach
        work.edit(f"recipes/{name}.yaml", f"title: {old}", f"title: {new}")
    without_a_tensor(work, "drafts/fourth")
    text = work.keys / "sides.text"
    drafts = {each["name"]: each["diff"] for each in work.ci("--write", f"text={text}")["drafts"]}
    for name, diff in drafts.items():
        assert [diff[side]["name"] for side in ("a", "b")] == [f"{name} at the base", name]
        assert {"pointer": "/title", "a": old, "b": new} in diff["recipe"]
    inventory = drafts["fourth"]["inventory"]
    assert (len(inventory["only_a"]), len(inventory["only_b"])) == (1, 0)
    assert text.read_text().count(f'/title  "{old}" -> "{new}"') == 2


@pytest.mark.parametrize("written", ["relative", "absolute"])
def test_a_folder_outside_of_the_zoo_is_not_read_even_where_there_is_a_good_draft(
    clone: Clone, tmp_path: Path, run_zoo: Callable[..., Ran], written: str
) -> None:
    work = clone("main")
    good_new_draft(work)
    outside = tmp_path / "outside"
    shutil.move(work.root / "drafts" / "fifth", outside)
    source = "../outside" if written == "relative" else str(outside)
    work.edit("recipes/fifth.yaml", "./drafts/fifth", source)
    assert run_zoo("--zoo", work.root, "verify", "fifth").status == 0  # the control: it is a good draft
    [draft] = work.ci()["drafts"]
    assert (draft["verdict"], draft["diff"]) == ("not checked", None)
    reasons = {each["code"]: each["reason"] for each in draft["report"]["results"] if each["required"]}
    said = "is outside of the zoo, and a pull request may name only what is in it"
    assert all(said in reasons[code] for code in ("I001", "F001", "X001", "C001"))
