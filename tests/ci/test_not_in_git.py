"""Files that were read here and that nobody would get with a clone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ci.example import Work
from tests.ci.history import good_new_draft
from zoo.ci.affected import References
from zoo.ci.git import Repository
from zoo.ci.untracked import MOST, untracked
from zoo.workspace import find_zoo

Clone = Callable[[str], Work]
WEIGHTS = "drafts/fifth/model.safetensors"


def test_nothing_is_said_where_git_has_all_of_it(clone: Clone) -> None:
    work = clone("main")
    good_new_draft(work)
    work.git("add", "-A")
    assert work.ci()["untracked"] == []
    work.commit()
    assert work.ci()["untracked"] == []


def test_weights_that_a_gitignore_names_are_said_in_every_form(clone: Clone) -> None:
    work = clone("main")
    work.write(".gitignore", "published/\n*.safetensors\n")
    good_new_draft(work)
    work.commit()
    forms = {form: work.keys / f"{form}.out" for form in ("text", "markdown", "comment")}
    writes = [word for form, file in forms.items() for word in ("--write", f"{form}={file}")]
    said = work.ci(*writes)
    assert (said["exit"], said["untracked"]) == (0, [WEIGHTS])
    assert f"\n1 file that was read is not in git: {WEIGHTS} -> git add" in forms["text"].read_text()
    for form in ("markdown", "comment"):
        assert f"**1 file that was read is not in git**: `{WEIGHTS}`" in forms[form].read_text()


def test_a_forgotten_git_add_of_card_and_evidence_is_named_by_its_files(clone: Clone) -> None:
    work = clone("main")
    good_new_draft(work)
    record = work.record("fifth")
    work.card("fifth")
    work.git("add", "recipes", "drafts")
    work.git("commit", "-qm", "without release/")
    assert work.ci()["untracked"] == ["release/fifth/1.0.0/README.md", record]


def test_what_a_recipe_rests_on_is_looked_for_in_all_that_it_names(clone: Clone) -> None:
    work = clone("main")
    work.write("recipes/prompts/held-out.jsonl", "{}\n")
    work.edit("recipes/tiny.yaml", "gates: {}", "gates: {smoke: {prompts: prompts/held-out.jsonl}}")
    zoo = find_zoo(work.root)
    references = References(zoo)
    found = untracked(zoo, ["second"], references, {})
    assert set(found) == {
        "drafts/second/config.json",
        "drafts/second/model.safetensors",
        "drafts/second/report.pdf",
        "recipes/profiles/sglang-tiny.yaml",
        "recipes/prompts/held-out.jsonl",
        "recipes/second.yaml",
        "recipes/targets/tiny-target.yaml",
        "recipes/tiny.training.json",
        "recipes/tiny.yaml",
        "release/second/0.1.0/README.md",
        "release/second/0.1.0/evidence/replay-held-out.json",
        "zoo.toml",
    }
    assert untracked(zoo, ["second"], references, Repository(work.root).index) == (
        "recipes/prompts/held-out.jsonl",
    )


def test_files_of_other_drafts_are_no_matter(clone: Clone) -> None:
    work = clone("main")
    work.write(".git/info/exclude", "drafts/fourth/more.json\n")
    work.write("drafts/fourth/more.json", "{}")
    work.write("recipes/second.yaml", work.read("recipes/second.yaml") + "# a comment\n")
    assert work.ci()["untracked"] == []


@pytest.mark.parametrize("source", ["..", "/etc", "./link", "."])
def test_no_folder_outside_of_the_zoo_is_walked(clone: Clone, source: str) -> None:
    work = clone("main")
    (work.root / "link").symlink_to("/etc")
    work.edit("recipes/fourth.yaml", "source: ./drafts/fourth", f"source: {source}")
    zoo = find_zoo(work.root)
    found = untracked(zoo, ["fourth"], References(zoo), Repository(work.root).index)
    assert found == ()


def test_a_folder_with_anything_in_it_is_bounded(clone: Clone) -> None:
    work = clone("main")
    for number in range(MOST + 5):
        (work.root / "drafts" / "fourth" / f"{number:05}").touch()
    zoo = find_zoo(work.root)
    found = untracked(zoo, ["fourth"], References(zoo), Repository(work.root).index)
    assert len(found) == MOST


def test_a_long_list_and_a_hostile_name_stay_short_and_printable(clone: Clone) -> None:
    work = clone("main")
    work.write(".gitignore", "published/\n*.bin\n")
    good_new_draft(work)
    for name in ("a\x1b[31m\n.bin", "b.bin", "c.bin", "d.bin", "e.bin"):
        work.write(f"drafts/fifth/{name}", "x")
    work.commit()
    file = work.keys / "text.out"
    work.ci("--write", f"text={file}")
    (line,) = [line for line in file.read_text().split("\n") if "not in git" in line]
    assert line.startswith("5 files that were read are not in git: ")
    assert "b.bin, drafts/fifth/c.bin and 2 more -> git add" in line
    assert "\x1b" not in line


def test_before_the_first_commit_it_is_no_news(clone: Clone) -> None:
    work = clone("main")
    shutil.rmtree(Path(work.root) / ".git")
    work.git("init", "-q", "-b", "main")
    assert work.ci(base="HEAD")["untracked"] == []
