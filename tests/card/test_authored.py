"""What a template may write itself: Markdown that shows what it prints, by a real Markdown parser."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markupsafe import Markup

from zoo.card import markdown
from zoo.card.authored import problem

_parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SECRET = "caveat"
VALUES = [
    markdown.inline("<script>x</script>"),
    markdown.code("<b>"),
    markdown.code("a`<b>"),
    markdown.line("``<b>` \\`<i>`"),
    markdown.line("\\"),
    markdown.inline(f"{SECRET} ]: x"),
    markdown.fenced("<b>", "bash"),
    "[name](<https://example.org/>)",
]
PIECES = st.sampled_from(
    [
        *(
            "<",
            "b>",
            "</b>",
            "!--",
            "-->",
            "`",
            "``",
            "```",
            "\n```\n",
            "\n\n```bash\n",
            "\n  ```\n",
            "\\",
            "!",
        ),
        *("[", "]", "](https://example.org/x)", "](", ")", "]:", " ", "\n", "\n\n", "\n- ", "\n  ", "\n    "),
        *("> ", "|", "\n|a|\n|---|\n|", "word", "&lt;", "#", "*", "_", "~", "\n1. ", "    ", "\t", "\n> "),
    ]
)
PARTS = st.lists(st.one_of(PIECES, st.sampled_from(VALUES).map(Markup)), max_size=12)


@settings(max_examples=1_500)
@given(PARTS)
def test_what_is_accepted_holds_no_html_image_definition_or_open_fence(parts: list[str]) -> None:
    if problem(parts) is not None:
        return
    environment: dict[str, object] = {}
    text = "".join(parts)
    tokens = _parser.parse(f"{text}\n\nthe end\n", environment)
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    assert not {token.type for token in every} & {"html_block", "html_inline", "image"}
    assert not environment.get("references")
    assert any(token.type == "inline" and token.content == "the end" for token in tokens)
    for token in every:
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith("https://")
            assert "title" not in token.attrs
    # Whatever was printed is there for a reader, in words or in code.
    shown = " ".join(
        token.content for token in every if token.type in ("text", "code_inline", "fence", "code_block")
    )
    assert shown.count(SECRET) == text.count(SECRET)


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\nA list:\n\n- one, `code` and **bold**\n- [two](https://example.org/a#b)\n\n> quoted\n",
        "| a | b |\n|---|:-:|\n| 1 | `x` |\n| 1 |\n",
        "[the notes](../notes.md), [above](#results), [a file](notes.md) and [of](docs/x.md)",
        "```bash\nzoo verify x <y> $HOME & `z`\n```\n",
        "a < b, 5 <= 6, AT&T, x -> y! and ``double``",
        "(note) [!NOTE] fine ~ 5",
    ],
)
def test_what_a_card_needs_is_accepted(text: str) -> None:
    assert problem([text]) is None


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["<", "b>"], "HTML"),
        (["\\", Markup("\\<b>")], "a backslash before a value"),
        (["`", Markup("`<b>`")], "code span"),
        ([Markup("`a`"), Markup("``<b>`x``")], "code span"),
        (["[", Markup("caveat"), "]: x"], "definition"),
        (["[x](https://example.org '", Markup("caveat"), "')"], "link with a title"),
        (["[x](javascript:alert(1))"], "neither https:// nor a path"),
        (["[x](java&#115;cript:x)"], "neither https:// nor a path"),
        (["[x](//example.org)"], "neither https:// nor a path"),
        (["!", Markup("[x](<https://example.org>)")], "an image"),
        (["![x](https://example.org/pixel.png)"], "an image"),
        (["$\\phantom{", Markup("caveat"), "}$"], "a formula"),
        (["```", Markup("caveat"), "\n```\n"], "another language"),
        (["```mermaid\n%% ", Markup("caveat"), "\n```\n"], "another language"),
        (["a\n\n```\n", Markup("caveat")], "not closed"),
        (["- a\n  ```\n<b>\n```\n"], "code span"),
        (["> ~~~ ", Markup("caveat")], "tildes"),
        (["|a|\n|-|\n|b|", Markup("caveat"), "|\n"], "more cells"),
        (["&#x202e;"], "an entity"),
        (["\\`a` <b>\n`<i>`"], "a backslash before a backtick"),
    ],
)
def test_what_hides_or_undoes_a_value_is_named(parts: list[str], expected: str) -> None:
    said = problem(parts)
    assert said is not None
    assert expected in said
