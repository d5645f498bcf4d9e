"""What is compared where files are out of reach: what the recipes say, and no more."""

from __future__ import annotations

from collections.abc import Callable

from tests.ci.example import Work

Clone = Callable[[str], Work]


def test_a_source_that_goes_out_of_reach_is_one_difference_and_not_many(clone: Clone) -> None:
    work = clone("main")
    work.edit("recipes/fourth.yaml", "source: ./drafts/fourth", "source: hf://acme/fourth@" + "1" * 40)
    work.card("fourth")
    (draft,) = work.ci("--offline")["drafts"]
    diff = draft["diff"]
    assert [each["pointer"] for each in diff["recipe"]] == ["/checkpoint/source"]
    assert (diff["config"], diff["inventory"], diff["files"]) == (None, None, None)
    assert [each["part"] for each in diff["not_compared"]] == ["files"]
    assert [diff[side]["implied"] for side in "ab"] == [False, False]
    assert diff["notes"] == []


def test_two_sides_out_of_reach_are_compared_by_their_texts_alone(clone: Clone) -> None:
    work = clone("main")
    work.edit("recipes/third.yaml", "block_size: 4", "block_size: 8")
    (draft,) = work.ci("--offline")["drafts"]
    diff = draft["diff"]
    assert [each["pointer"] for each in diff["recipe"]] == ["/draft/block_size"]
    assert (diff["config"], diff["inventory"], diff["files"]) == (None, None, None)
    assert {each["reason"].partition(":")[0] for each in diff["not_compared"]} == {
        "third at the base",
        "third",
    }
