"""The runner of these tests reads files as the real one does."""

from __future__ import annotations

import pytest

from tests.action.runner import pairs


def test_names_and_values_are_taken_apart_as_the_runner_does() -> None:
    text = "a=1\n\nb==x=<<y\nc<<END\none\ntwo=<<3\nEND\nd=\ne<<X\nX\n"
    assert pairs(text) == {"a": "1", "b": "=x=<<y", "c": "one\ntwo=<<3", "d": "", "e": ""}


@pytest.mark.parametrize("text", ["a", "=x", "a<<\nx\n", "<<E\nE\n", "a<<E\nx\n", "a=1\nb\n"])
def test_what_fails_a_step_fails_here(text: str) -> None:
    with pytest.raises(ValueError, match=r"invalid format|delimiter"):
        pairs(text)
