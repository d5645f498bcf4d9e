"""Text from outside is words on the card and nothing else, by a real Markdown parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from zoo.card.markdown import code, fenced, inline, line, prose

HOSTILE = [
    "{{7*7}}",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a | b | c",
    "two\nlines\n\n# and a heading",
    "[text](javascript:alert(1))",
    "](javascript:alert(1))",
    "![image](https://example.org/x.png)",
    "<https://example.org>",
    "# heading",
    "> quote",
    "- item",
    "1. item",
    "---",
    "===",
    "```",
    "~~~",
    "~~struck~~",
    "**bold** and _emphasis_",
    "`code`",
    "&lt;script&gt; &#60;",
    "turned \u202e round",
    "\x1b[31mred",
    "back\\slash",
    "[^1]: footnote",
    "    indented",
    "$$x$$",
]
ALPHABET = st.text(alphabet="ab1 .<>|[]()*_`~#-+=!\\&;:/\n\t\u202e\u2028$", max_size=40)
_parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def kinds(text: str) -> set[str]:
    """The kinds of all tokens of a text, and whether any is an image, link or HTML."""
    found: set[str] = set()
    for token in _parser.parse(text):
        found.add(token.type)
        found |= {child.type for child in token.children or ()}
    return found


def shown(text: str) -> str:
    return "".join(
        child.content
        for token in _parser.parse(text)
        for child in token.children or ()
        if child.type in ("text", "text_special")
    )


PLAIN = {"paragraph_open", "inline", "text", "text_special", "paragraph_close"}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_plain_words_in_a_paragraph(text: str) -> None:
    assert kinds(inline(text)) <= PLAIN


@given(ALPHABET)
def test_any_text_is_plain_words_in_a_paragraph(text: str) -> None:
    assert kinds(inline(text)) <= PLAIN


# "::" where a line begins and "##[" are commands of CI runners, and are disarmed (zoo.printable).
@given(
    ALPHABET.map(lambda text: " ".join(text.split())).filter(
        lambda text: text.isascii() and not text.startswith("::") and "##[" not in text
    )
)
def test_what_is_shown_is_what_was_written(text: str) -> None:
    assert shown(inline(text)).strip() == text


@given(ALPHABET)
def test_any_text_stays_in_its_table_cell(text: str) -> None:
    table = f"| a | b |\n|---|---|\n| {inline(text)} | {code(text)} |\n"
    tokens = [token.type for token in _parser.parse(table)]
    assert tokens.count("tr_open") == 2
    assert tokens.count("td_open") == 2
    assert not kinds(table) & {
        "link_open",
        "html_inline",
        "html_block",
        "image",
        "em_open",
        "strong_open",
        "s_open",
    }


@given(ALPHABET)
def test_any_text_is_safe_as_the_words_of_a_link_and_of_a_heading(text: str) -> None:
    tokens = _parser.parse(f"# [x{inline(text)}x](https://example.org)\n\nafter")
    assert [token.type for token in tokens][:3] == ["heading_open", "inline", "heading_close"]
    links = [child for token in tokens for child in token.children or () if child.type == "link_open"]
    assert [link.attrs["href"] for link in links] == ["https://example.org"]


@given(ALPHABET)
def test_no_text_closes_a_code_block(text: str) -> None:
    tokens = _parser.parse(f"{fenced(text, 'bash')}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


def test_prose_keeps_paragraphs_and_code_spans_and_nothing_else() -> None:
    text = prose("Use `--flag x`, not *this*.\n\n# Second\nparagraph")
    assert text == "Use `--flag x`, not \\*this\\*.\n\n\\# Second paragraph"
    assert kinds(text) <= PLAIN | {"code_inline"}
    assert [token.type for token in _parser.parse(text)].count("paragraph_open") == 2


@given(ALPHABET)
def test_any_prose_is_paragraphs_of_words_and_code(text: str) -> None:
    assert kinds(prose(text)) <= PLAIN | {"code_inline"}
    assert "\n" not in line(text)


def test_ordinary_words_are_not_touched() -> None:
    for text in (
        "iter_0000384 (step 383), ~7.0 GB, SGLang <0.5.16, a & b, +2-13%, C#",
        "Hex's agent: 28-29 x 3-6",
    ):
        assert inline(text) == text
