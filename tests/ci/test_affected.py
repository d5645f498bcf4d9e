"""Which recipes a change affects: all that depend on what it edits, and no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ci.example import Work
from zoo.ci.affected import affected, of_repository
from zoo.ci.model import ChangedFile, Kind
from zoo.recipe import yamltree
from zoo.workspace import find_zoo

ALL = ["fourth", "second", "third", "tiny"]
CASES = {
    "recipes/tiny.yaml": ["second", "tiny"],
    "recipes/second.yaml": ["second"],
    "recipes/gone.yaml": ["gone"],
    "recipes/targets/tiny-target.yaml": ["second", "third", "tiny"],
    "recipes/targets/fourth-target.yaml": ["fourth"],
    "recipes/profiles/sglang-tiny.yaml": ["second", "third", "tiny"],
    "recipes/profiles/sglang-fourth.yaml": ["fourth"],
    "recipes/tiny.training.json": ALL,
    "recipes/nobodys.json": [],
    "templates/card.md.j2": ALL,
    "release/second/0.1.0/evidence/replay-held-out.json": ["second"],
    "release/nobody/1.0.0/README.md": [],
    "release/targets/fourth-target/calibration-sglang-fourth.json": ["fourth"],
    "checkpoint/config.json": ["tiny"],
    "drafts/second/deep/down.bin": ["second"],
    "drafts/other": [],
    "README.md": [],
    "zoo.toml": [],
}


def names(work: Work, path: str) -> list[str]:
    return list(affected(find_zoo(work.root), [ChangedFile(path, Kind.CHANGED)]))


@pytest.mark.parametrize("path", CASES)
def test_a_file_affects_what_depends_on_it(example: Work, path: str) -> None:
    assert names(example, path) == CASES[path]


def test_a_recipe_that_overrides_its_target_does_not_depend_on_the_inherited_one(
    clone: Callable[[str], Work],
) -> None:
    work = clone("main")
    work.edit("recipes/second.yaml", "name: second", "name: second\ntarget: fourth-target")
    assert names(work, "recipes/targets/tiny-target.yaml") == ["third", "tiny"]
    assert names(work, "recipes/targets/fourth-target.yaml") == ["fourth", "second"]


def test_an_escaped_name_is_a_reference_too(clone: Callable[[str], Work]) -> None:
    work = clone("main")
    work.edit("recipes/second.yaml", "extends: tiny", 'extends: "\\x74iny"')
    assert names(work, "recipes/tiny.yaml") == ["second", "tiny"]
    assert names(work, "recipes/targets/tiny-target.yaml") == ["second", "third", "tiny"]


def test_a_long_chain_of_extends_is_followed(clone: Callable[[str], Work]) -> None:
    work = clone("main")
    for number in range(5):
        before = f"link-{number - 1}" if number else "second"
        work.write(f"recipes/link-{number}.yaml", f"extends: {before}\nname: link-{number}\n")
    assert names(work, "recipes/tiny.yaml") == [*(f"link-{n}" for n in range(5)), "second", "tiny"]


def test_a_circle_of_extends_comes_to_an_end(clone: Callable[[str], Work]) -> None:
    work = clone("main")
    work.write("recipes/a.yaml", "extends: b\nname: a\n")
    work.write("recipes/b.yaml", "extends: a\nname: b\n")
    assert names(work, "recipes/a.yaml") == ["a", "b"]


def test_the_prompts_of_a_gate_are_a_file_that_a_recipe_names(clone: Callable[[str], Work]) -> None:
    work = clone("main")
    work.write("recipes/prompts/held-out.jsonl", "{}\n")
    work.edit("recipes/fourth.yaml", "gates: {}", "gates: {smoke: {prompts: prompts/held-out.jsonl}}")
    assert names(work, "recipes/prompts/held-out.jsonl") == ["fourth"]


def test_a_folder_that_a_target_names_affects_its_drafts(clone: Callable[[str], Work]) -> None:
    work = clone("main")
    work.edit("recipes/targets/fourth-target.yaml", "repo: zoo-tests/tiny-target", "repo: ./targets/fourth")
    assert names(work, "targets/fourth/config.json") == ["fourth"]


def test_only_files_that_could_hold_a_reference_are_parsed(
    clone: Callable[[str], Work], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = clone("main")
    for number in range(50):
        work.write(f"recipes/other-{number}.yaml", f"name: other-{number}\ntarget: elsewhere\n")
    parsed: list[str] = []
    parse = yamltree.parse

    def counted(text: bytes, file: str):  # type: ignore[no-untyped-def]
        parsed.append(file)
        return parse(text, file)

    monkeypatch.setattr(yamltree, "parse", counted)
    assert names(work, "recipes/targets/fourth-target.yaml") == ["fourth"]
    assert not [each for each in parsed if "other" in each]


def test_the_recipes_of_a_repository(example: Work) -> None:
    place = find_zoo(example.root)
    assert of_repository(place, "acme/third") == ["third"]
    assert of_repository(place, "zoo-tests/second") == ["second"]
    assert of_repository(place, "zoo-tests/sec") == []
