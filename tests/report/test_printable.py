"""Text that was made printable starts no command of a CI runner."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.runner import commands
from zoo.printable import json_text, printable

ANY = st.lists(
    st.sampled_from(
        ["::", ":", "#", "##[", "[", "]", "add-mask", "error", " ", "\n", "\r", "\u2028", "\u00a0", "a"]
    ),
    max_size=14,
).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::add-mask::x", r"\x3a:add-mask::x"),
        ("a\n  ::error::x", "a\n  \\x3a:error::x"),
        ("a ##[error]x", r"a \x23#[error]x"),
        ("###[error]x", r"#\x23#[error]x"),
        ("a::b, C++ std::string and http://[::1]/", "a::b, C++ std::string and http://[::1]/"),
    ],
)
def test_only_what_would_be_a_command_changes(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u3164pal", r"pay\u3164pal"),
        ("fc.weight\ufe0f", r"fc.weight\ufe0f"),
        ("a\U000e0100\U000e01ef", r"a\U000e0100\U000e01ef"),
        ("\u26a0\ufe0f beware, caf\u00e9, \u65e5\u672c", "\u26a0\ufe0f beware, caf\u00e9, \u65e5\u672c"),
        ("\u26a0\ufe0f\ufe0f", "\u26a0\ufe0f\\ufe0f"),
    ],
)
def test_what_nobody_sees_is_shown_and_an_emoji_stays(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown


@given(ANY)
def test_no_text_starts_a_command(text: str) -> None:
    assert commands(printable(text)) == []
    assert commands(f"zoo: {printable(text)}") == []


@given(ANY)
def test_no_document_starts_a_command_and_its_text_stays(text: str) -> None:
    output = json_text({"key": text, text: [text]})
    assert commands(output) == []
    assert json.loads(output)["key"] == text


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_limit_cuts_what_would_have_been_shown(text: str, limit: int) -> None:
    whole = printable(text)
    assert printable(text, limit=limit) in (whole, whole[: limit - 1] + "…")
