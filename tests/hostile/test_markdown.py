"""Markdown, HTML, XML and links in what a pull request says: words in every form and on the card.

Nothing comes to a page beside them that the same change with plain words has not.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from huggingface_hub import ModelCard
from lxml import etree

from tests.ci.example import Work
from tests.hostile.outputs import (
    CARD,
    RECIPE,
    Shown,
    copy_of,
    kinds,
    links,
    renamed_tensor,
    show,
    talk,
    tokens,
    words,
    yaml,
)
from tests.report import checks
from zoo.printable import printable
from zoo.report.comment import MARK

Clone = Callable[[str], Work]
EVIL = "https://evil.example"
BEGIN, END = "<!-- zoo: withdrawn versions -->", "<!-- zoo: end of withdrawn versions -->"
TEXTS = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "an image that counts readers": f"![x]({EVIL}/pixel.png) <img src='{EVIL}/pixel.png' width=1>",
    "a link that runs a script": "[x](javascript:alert(1)) <javascript:alert(1)> [x](java&#115;cript:a)",
    "a link with data": "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "a link with other words": f"[https://huggingface.co]({EVIL}) [x][1] [1]: {EVIL}",
    "an autolink": f"<{EVIL}> {EVIL} www.evil.example <me@evil.example>",
    "mentions and references": "@octocat @org/team, #1 GH-2 owner/repo#3 owner/repo@0123456 `x`@octocat",
    "the mark of the comment": f"{MARK} <!-- draft-zoo:ci -->",
    "the marks of withdrawn versions": f"`{BEGIN}` `{END}` {BEGIN} {END}",
    "the end of our tags": "</details></summary></table></td><details open><summary>passed</summary>",
    "an HTML comment": "<!-- all that follows is hidden",
    "runs of backticks": "``` `a` ``b`` ````` ` <b>",
    "pipes": "a | b || c \\| d \\\\| e | passed |",
    "a table": "| recipe | verdict |  |---|---|  | x | passed |",
    "headings and rules": "# heading ## x === --- *** ___",
    "front matter": "--- license: mit --- x: y",
    "footnotes": f"[^1] [^1]: {EVIL}",
    "formulas": "$\\color{white}{x}$ $$\\phantom{y}$$ $`z`$",
    "CDATA and entities of XML": "]]></failure><testcase name='x'/> <![CDATA[ &lt; &amp; &#0; &xxe; %pe;",
    "placeholders of SARIF": f"{{0}} {{1}} [x](1) \\[x]({EVIL}) %SRCROOT%",
    "an expression of a workflow": "${{ secrets.TOKEN }} $(id) {{7*7}} {% raw %}",
}
# Blocks of Markdown, where a text may have paragraphs.
BLOCKS = "\n\n# heading\n\n---\n\n- a\n\n1. b\n\n> c\n\n```\nd\n```\n\n~~~\ne\n~~~\n\n"
BLOCKS += "| f |\n|---|\n| g |\n\n<b>\n\n    h"


@pytest.fixture(scope="module")
def plain(example: Work, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The same change with plain words."""
    work = copy_of(example, tmp_path_factory.mktemp("plain") / "zoo")
    talk(work, "words", "words" + "\n\nwords" * BLOCKS.count("\n\n"))
    return show(work, card=True)


def blocks(text: str) -> list[tuple[str, str]]:
    """All blocks of a page but its words, and its own HTML: what no text may change."""
    return [
        (token.type, token.content.strip() if token.type.startswith("html") else token.tag)
        for token in tokens(text)
        if (token.block and token.type != "inline") or token.type in ("image", "link_open", "html_inline")
    ]


def same_as(shown: Shown, plain: Shown) -> None:
    """Nothing has come to any form beside words."""
    for form in ("comment", "markdown"):
        assert blocks(shown.judged.forms[form]) == blocks(plain.judged.forms[form])
        assert f"\n{MARK}" not in shown.judged.forms[form]  # who updates the comment looks where it begins
    assert blocks(shown.card) == blocks(plain.card)
    assert sorted(links(shown.card)) == sorted(links(plain.card))
    assert shown.judged.codes == plain.judged.codes
    assert cases(shown) == cases(plain)
    results = [checks.valid_sarif(each.judged.forms["sarif"])["results"] for each in (shown, plain)]
    assert [each["ruleId"] for each in results[0]] == [each["ruleId"] for each in results[1]]
    assert [each["locations"] for each in results[0]] == [each["locations"] for each in results[1]]


def cases(shown: Shown) -> list[tuple[str, list[str]]]:
    root = etree.fromstring(shown.judged.forms["junit"].encode())
    return [(case.get("name"), [child.tag for child in case]) for case in root.iter("testcase")]


@pytest.mark.parametrize("name", TEXTS)
def test_in_the_words_of_a_recipe_it_is_words(clone: Clone, plain: Shown, name: str) -> None:
    work = clone("main")
    talk(work, TEXTS[name], TEXTS[name] + BLOCKS)
    shown = show(work, card=True)
    same_as(shown, plain)
    seen = words(shown.card).replace("`", "")
    assert TEXTS[name].split()[0].replace("`", "") in seen
    assert seen.count("Speculative decoding is output-lossless") == 1


def test_a_caveat_cannot_take_itself_off_the_card(clone: Clone) -> None:
    """By the marks between which a card tells of withdrawn versions, and the tool replaces what it said."""
    work = clone("main")
    work.edit(RECIPE, "A draft that exists to be released in tests.", yaml(f"It is `{BEGIN}` fine."))
    end = yaml(f"`{END}`")
    work.edit(RECIPE, "E017]", f"E017, {{text: It answers nonsense.}}, {{text: {end}}}]")
    shown = show(work, card=True)
    assert "It answers nonsense." in words(shown.card)
    assert shown.judged.verdicts["fourth"] == "passed"


@pytest.mark.parametrize(
    "license_name",
    [
        'x" license: mit',
        "x\u2028license: mit",
        "a: b",
        "--- x",
        "x # y",
        "[a, b]",
        "{a: b}",
        "!!python/object:x",
        "*a &b",
        "no",
        "'",
    ],
)
def test_metadata_of_a_card_is_what_the_recipe_says_and_no_more(clone: Clone, license_name: str) -> None:
    work = clone("main")
    stated = f"license: {{id: other, name: {yaml(license_name)}, link: 'https://a.example/'}}"
    work.edit(RECIPE, "license: {id: apache-2.0}", stated)
    work.edit(RECIPE, "title: A tiny draft", f"title: {yaml('--- license: mit')}")
    work.card("fourth")
    data = ModelCard(work.read(CARD)).data.to_dict()
    assert set(data) == {"license", "license_name", "license_link", "library_name", "tags"}
    assert (data["license"], data["license_name"]) == ("other", printable(license_name))


def test_names_and_dtypes_of_tensors_are_code_in_the_comment(clone: Clone) -> None:
    work = clone("main")
    for name in TEXTS.values():
        renamed_tensor(work, "drafts/fourth", name)
    shown = show(work)
    assert shown.judged.codes["fourth"] == {"X008"}
    work.write("drafts/fourth/model.safetensors", (work.root / "checkpoint/model.safetensors").read_bytes())
    for text in list(TEXTS.values())[:6]:
        renamed_tensor(work, "drafts/fourth", text, dtype=f"BF16{text}")
    shown = show(work)
    assert shown.judged.verdicts["fourth"] == "failed"


def test_keys_and_values_of_a_config_are_code_in_the_comment(clone: Clone) -> None:
    work = clone("main")
    work.json(
        "drafts/fourth/config.json", lambda config: config.update({text: text for text in TEXTS.values()})
    )
    work.json("drafts/fourth/config.json", lambda config: config.update(hidden_act=TEXTS["script"]))
    shown = show(work)
    assert shown.judged.verdicts["fourth"] == "failed"
    assert not kinds(shown.judged.forms["comment"]) & {"image", "link_open"}


def test_names_of_files_are_code_in_the_comment(clone: Clone) -> None:
    work = clone("main")
    for text in list(TEXTS.values())[:9]:
        work.write(f"recipes/prompts/{text.replace('/', '')[:200]}.jsonl", "{}")
        work.write(f"drafts/fourth/{text.replace('/', '')[:200]}.bin", "x")
    shown = show(work)
    assert "V014" in shown.judged.codes[""]


def test_what_evidence_says_of_itself_is_words(clone: Clone) -> None:
    work = clone("main")
    path = work.record("fourth")

    def change(record: dict[str, object]) -> None:
        text = TEXTS["script"] + TEXTS["pipes"] + TEXTS["mentions and references"]
        record["inputs"]["about"] = text  # type: ignore[index]
        record["host"] = {"gpus": [text], "driver": text, "cpu": text}
        record["target"] = {"repo": text, "revision": text}
        record["tool"] = text
        record["results"][0].update(outcome="failed", reason=text)  # type: ignore[index]

    work.json(path, change)
    shown = show(work, card=True)
    assert not kinds(shown.card) & {"image", "html_inline", "html_block"}
    assert TEXTS["script"] in words(shown.card)
    assert shown.judged.codes["fourth"] == {"V007", "V009"}


def test_a_reason_to_withdraw_a_version_is_words_on_its_card(clone: Clone) -> None:
    work = clone("main")
    work.zoo("release", "fourth", "--push")
    text = f"{TEXTS['script']} {TEXTS['an HTML comment']} <!-- zoo: end of withdrawn versions --> {EVIL}"
    work.zoo("yank", "fourth@1.0.0", "--reason", text)
    work.edit(RECIPE, "version: 1.0.0", "version: 1.1.0")
    work.zoo("card", "fourth")
    card = work.read("release/fourth/1.1.0/README.md")
    marks = [token.content for token in tokens(card) if token.type == "html_block"]
    assert [mark.strip() for mark in marks] == [
        "<!-- zoo: withdrawn versions -->",
        "<!-- zoo: end of withdrawn versions -->",
    ]
    assert "html_inline" not in kinds(card)


def test_a_name_of_a_branch_is_code_in_the_comment(clone: Clone) -> None:
    work = clone("main")
    base = "`a`|<!--@octocat-#1-</details>-$(id)"
    work.git("branch", base, "main")
    talk(work, "words")
    shown = show(work, base)
    assert "octocat" in shown.judged.forms["comment"]


def test_messages_of_a_megabyte_are_cut_in_every_form(clone: Clone) -> None:
    work = clone("main")
    work.json("drafts/fourth/config.json", lambda config: config.update(model_type="<b>" * 300_000))
    shown = show(work)
    assert shown.judged.verdicts["fourth"] == "failed"
    assert len(shown.judged.forms["comment"]) < 65_536
    results = json.loads(shown.judged.forms["sarif"])["runs"][0]["results"]
    assert max(len(each["message"]["text"]) for each in results) < 10_000


def test_paths_in_sarif_stay_below_the_root(clone: Clone) -> None:
    work = clone("main")
    work.edit(RECIPE, "source: ./drafts/fourth", "source: ../../../../etc")
    work.write("recipes/..%2f..%2fetc.yaml", "x: 1\n")
    work.write("recipes/a?b#c.yaml", "x: 1\n")
    work.write("recipes/https:%2f%2fevil.example.yaml", "x: 1\n")
    shown = show(work)  # which holds every path of SARIF against the form of one
    assert shown.judged.exit == 1
