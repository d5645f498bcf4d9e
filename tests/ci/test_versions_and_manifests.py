"""Published versions: what the recipe says of one, its files, its place in the order, and its manifest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.ci.example import Work

Clone = Callable[[str], Work]
TINY = "recipes/tiny.yaml"


def found(result: dict[str, Any], code: str, name: str = "") -> list[tuple[str, str, int | None]]:
    """(message, file, line) of each finding of a rule about one recipe, or about the change as a whole."""
    (report,) = (
        [result["tree"]]
        if not name
        else [each["report"] for each in result["drafts"] if each["name"] == name]
    )
    return [
        (each["message"], each["where"]["file"], each["where"].get("line"))
        for rule in report["results"]
        if rule["code"] == code
        for each in rule["findings"]
    ]


def line_of(work: Work, path: str, text: str) -> int:
    (number,) = [i for i, line in enumerate(work.read(path).splitlines(), 1) if line.strip().startswith(text)]
    return number


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [("tensors", "25", "26"), ("dtype", "bfloat16", "float16")],
)
def test_what_a_recipe_says_of_a_published_checkpoint_does_not_change(
    clone: Clone, key: str, old: str, new: str
) -> None:
    work = clone("main")
    work.edit(TINY, f"{key}: {old}", f"{key}: {new}")
    result = work.ci()
    said = f"checkpoint.{key} changed, and 1.0.0 is published"
    assert (said, TINY, line_of(work, TINY, f"{key}:")) in found(result, "V001", "tiny")
    assert result["exit"] == 1


def test_a_file_that_an_engine_reads_and_that_was_not_published_is_named(clone: Clone) -> None:
    work = clone("main")
    work.write("checkpoint/generation_config.json", "{}")
    work.edit(TINY, "config.json: config\n", "config.json: config\n    generation_config.json: config\n")
    where = (TINY, line_of(work, TINY, "generation_config.json:"))
    said = '"generation_config.json" is no file of the published 1.0.0'
    assert (said, *where) in found(work.ci(), "V001", "tiny")


def test_a_file_that_no_engine_reads_was_never_promised(clone: Clone) -> None:
    work = clone("main")
    work.write("checkpoint/notes.pdf", "notes")
    work.edit(TINY, "report.pdf: document\n", "report.pdf: document\n    notes.pdf: document\n")
    assert not [each for each in found(work.ci(), "V001", "tiny") if "is no file of" in each[0]]


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("0.9.5", ["version 0.9.5 is lower than 1.0.0, which is published"]),
        ("0.8.0", ["version 0.8.0 is lower than 0.9.0, which the recipe had"]),
        ("1.0.0-rc1", ["version 1.0.0-rc1 is lower than 1.0.0, which is published"]),
        ("1.0.0", []),  # back to what is published
        ("1.0.1", []),
    ],
)
def test_a_version_lies_above_what_is_published_also_where_the_base_does_not(
    clone: Clone, version: str, said: list[str]
) -> None:
    work = clone("main")
    work.edit(TINY, "version: 1.0.0", "version: 0.9.0")
    work.commit()
    work.git("branch", "-f", "main")
    work.edit(TINY, "version: 0.9.0", f"version: {version}")
    where = (TINY, line_of(work, TINY, "version:"))
    assert found(work.ci(), "V002", "tiny") == [(each, *where) for each in said]


def test_a_recipe_that_comes_back_lies_above_what_is_published(clone: Clone) -> None:
    work = clone("main")
    text = work.read(TINY)
    work.edit("recipes/second.yaml", "extends: tiny", "extends: fourth")
    work.remove(TINY)
    work.commit()
    work.git("branch", "-f", "main")
    work.write(TINY, text.replace("version: 1.0.0", "version: 0.5.0"))
    [(message, *_)] = found(work.ci(), "V002", "tiny")
    assert message == "version 0.5.0 is lower than 1.0.0, which is published"


def lost(work: Work) -> None:
    work.remove("release/second/0.1.0/manifest.json")


def of_other_files(work: Work) -> None:
    work.write("release/second/0.1.0/manifest.json", work.read("release/tiny/1.0.0/manifest.json"))


def with_a_space(work: Work) -> None:
    path = "release/second/0.1.0/manifest.json"
    work.write(path, work.read(path) + " ")


@pytest.mark.parametrize("edit", [lost, of_other_files, with_a_space])
def test_a_new_release_brings_the_very_manifest_that_its_log_names(
    clone: Clone, edit: Callable[[Work], None]
) -> None:
    work = clone("main")
    work.zoo("release", "second", "--push")
    assert found(work.ci(), "V006") == []  # the control
    edit(work)
    result = work.ci()
    assert [file for _, file, _ in found(result, "V006")] == ["release/second/0.1.0/manifest.json"]
    assert result["exit"] == 1
