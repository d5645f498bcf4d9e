"""Templates of a zoo: overriding, errors that name the place, and the sandbox."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from tests.card.test_markdown import kinds
from zoo.card.render import NOTICE, render_card
from zoo.errors import TemplateError
from zoo.recipe.model import Recipe
from zoo.workspace import Zoo


def template(zoo: Zoo, text: str, name: str = "card.md.j2") -> None:
    zoo.templates.mkdir(exist_ok=True)
    (zoo.templates / name).write_text(text)


def test_a_zoo_overrides_one_block_and_keeps_the_rest(kimi_zoo: Zoo, kimi: Recipe) -> None:
    shipped = render_card(kimi_zoo, kimi)
    block = "{% block version %}{{ super() }}\n*Ours*: {{ title }}\n{% endblock %}"
    template(kimi_zoo, '{% extends "zoo/card.md.j2" %}' + block)
    text = render_card(kimi_zoo, kimi)
    assert text.startswith(shipped.rstrip("\n"))
    assert text.endswith("*Ours*: Kimi-K2.7-Code-DFlash, Hex fine-tune (kimi-ft-v3)\n")


def test_this_repository_adds_how_to_verify_and_changes_nothing_else(
    here: Zoo, kimi_zoo: Zoo, kimi: Recipe
) -> None:
    ours, shipped = render_card(here, kimi), render_card(kimi_zoo, kimi)
    extra = [line for line in ours.splitlines() if line not in shipped.splitlines()]
    assert "zoo verify kimi-ft-v3 --checkpoint DIR" in extra
    assert "zoo launch kimi-ft-v3" in extra
    assert [line for line in shipped.splitlines() if line not in ours.splitlines()] == []


def test_a_zoo_may_replace_the_template_as_a_whole(kimi_zoo: Zoo, kimi: Recipe) -> None:
    template(kimi_zoo, NOTICE + "\n\n# {{ title }}\n")
    text = render_card(kimi_zoo, kimi)
    assert text.startswith("---\nlicense: unknown\n")
    assert text.endswith(f"---\n\n{NOTICE}\n\n# Kimi-K2.7-Code-DFlash, Hex fine-tune (kimi-ft-v3)\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\n{{ missing_value }}\n", "templates/card.md.j2:2: 'missing_value' is undefined"),
        ("{{ training.nothing }}", "templates/card.md.j2:1: 'dict object' has no attribute 'nothing'"),
        ("{% for x in missing %}{% endfor %}", "'missing' is undefined"),
        ("{% if missing %}{% endif %}", "'missing' is undefined"),
        ("{{ missing|code }}", "'missing' is undefined"),
        ("\n\n{% block %}", "templates/card.md.j2:3: "),
        ("{{ title|upper }}", "No filter named 'upper'"),
        ('{% include "zoo/card.md.j2" %}', 'it has no "include"'),
        ('{% extends "card.md.j2" %}', 'extends nothing but "zoo/card.md.j2"'),
        ('{% extends "../recipes/kimi-ft-v3.yaml" %}', 'extends nothing but "zoo/card.md.j2"'),
        ("{% extends title %}", 'extends nothing but "zoo/card.md.j2"'),
        ("{{ results }}", "a value of type list cannot be printed"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ title.__class__ }}", "unsafe"),
        ("{{ title.upper }}", "unsafe"),
        ("{{ results.__class__.__base__ }}", "unsafe"),
        ("{{ self.__init__.__globals__ }}", "unsafe"),
        ("{{ assumed }}", "a value of type bool cannot be printed"),
        ("{{ title.upper() }}", "calls nothing but super()"),
        ("{{ '%s'.format(title) }}", "calls nothing but super()"),
        ("{{ results.append(1) }}", "calls nothing but super()"),
        ("{{ range(9) }}", "calls nothing but super()"),
        ("{{ lipsum.__globals__ }}", "'lipsum' is undefined"),
        ("{{ cycler }}", "'cycler' is undefined"),
        ("{{ 9 ** 9 ** 9 }}", 'it has no "**"'),
        ("{{ 'a' * 1000000000 }}", 'it has no "*"'),
        ("{{ title + title }}", 'it has no "+"'),
        ("{{ title ~ title }}", 'it has no "concat"'),
        ("{{ title[0:1] }}", 'it has no "getitem"'),
        ("{% autoescape false %}{{ title }}{% endautoescape %}", 'it has no "scope"'),
        ("{{ '\\u202e' }}\u202e", "does not print"),
        ("{% for a in architecture %}" * 3 + "x" * 3000 + "{% endfor %}" * 3, "longer than"),
        ("x" * 70_000, "larger than 65,536 bytes"),
    ],
)
def test_a_wrong_template_is_one_clear_error(kimi_zoo: Zoo, kimi: Recipe, text: str, expected: str) -> None:
    template(kimi_zoo, text)
    with pytest.raises(TemplateError) as caught:
        render_card(kimi_zoo, kimi)
    assert expected in caught.value.message
    assert "zoo/card.md.j2" in caught.value.hint or "larger than" in expected


def nested(begin: str, end: str, times: int, inside: str = "") -> str:
    return begin * times + inside + end * times


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (nested("{% for x in summary %}", "{% endfor %}", 3), "goes over a list, not over text"),
        (nested("{% for x in summary %}", "{% endfor %}", 6), "loops in loops up to 3"),
        (nested("{% for x in results %}", "{% endfor %}", 25), "loops in loops up to 3"),
        ("{% for x in results recursive %}{% endfor %}", "none that calls itself"),
        (
            nested(
                "{% for x in architecture %}", "{% endfor %}", 3, "{% if summary|prose %}{% endif %}" * 1500
            ),
            "more than 200,000 steps",
        ),
        ("{% set a = 'x' %}" + "{% set a = a ~ a %}" * 40, 'it has no "assign"'),
        (nested("{% set a %}", "{% endset %}", 12, "x" * 1000), 'it has no "assignblock"'),
        ("{% macro a() %}{% endmacro %}", 'it has no "macro"'),
        ("{% call a() %}{% endcall %}", 'it has no "callblock"'),
        ("{% filter prose %}{% endfilter %}", 'it has no "filterblock"'),
        (nested("{% if title %}", "{% endif %}", 120), "nests no deeper than 32"),
        ("{% if title %}" + "{% elif title %}" * 4000 + "{% endif %}", "no more than 32 elif"),
        ("{% if title" + " and title" * 6000 + " %}{% endif %}", "nests no deeper than 32"),
        ("{{ title" + ".a" * 30_000 + " }}", "nests no deeper than 32"),
        ("{{ " + nested("(", ")", 20_000, "title") + " }}", "nested too deeply"),
        ("{{ " + "1" * 5000 + " }}", "limit (4300 digits)"),
        ("{{ title|code(a=1, a=2) }}", "gives a filter or a test no arguments"),
        ("{% block a %}{{ super(a=1, a=2) }}{% endblock %}", "calls nothing but super()"),
        ("{% block a %}{% block b %}{% endblock %}{% endblock %}", "not inside anything"),
        ("{% block a %}{% for x in results %}{{ super() }}{% endfor %}{% endblock %}", "outside of loops"),
    ],
)
def test_a_template_that_would_run_or_grow_without_end_is_refused_at_its_line(
    kimi_zoo: Zoo, kimi: Recipe, text: str, expected: str
) -> None:
    template(kimi_zoo, f"\n\n{text}")
    start = time.perf_counter()
    with pytest.raises(TemplateError) as caught:
        render_card(kimi_zoo, kimi)
    assert time.perf_counter() - start < 20
    assert caught.value.message.startswith("templates/card.md.j2:3: ")
    assert expected in caught.value.message


@pytest.mark.parametrize(
    "error", [MemoryError(), SyntaxError("too many nested blocks"), RecursionError("deep")]
)
def test_whatever_python_itself_refuses_is_an_error_of_the_template(
    kimi_zoo: Zoo, kimi: Recipe, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    template(kimi_zoo, f"{NOTICE}\n\n{error}\n")  # a text of its own: none that is compiled already
    monkeypatch.setattr("zoo.card.sandbox.Sandbox._compile", fail)
    with pytest.raises(TemplateError, match=r"^card\.md\.j2: (MemoryError|too many nested blocks|deep)"):
        render_card(kimi_zoo, kimi)


def test_loops_branches_and_filters_are_all_there(kimi_zoo: Zoo, kimi: Recipe) -> None:
    loop = "{% for row in architecture if row.value is defined %}{{ loop.index }}"
    loop += "{% if not loop.last and title != 'x' %}, {% endif %}{% else %}none{% endfor %}"
    template(kimi_zoo, f"{NOTICE}\n\n{loop} of {{{{ architecture|length }}}}{{{{ '!' if title else '?' }}}}")
    count = render_card(kimi_zoo, kimi).split(" of ")[-1].strip(" !\n")
    numbers = ", ".join(str(number + 1) for number in range(int(count)))
    assert render_card(kimi_zoo, kimi).endswith(f"\n{numbers} of {count}!\n")


@pytest.mark.parametrize(
    "text",
    [
        "# {{ title }}\n",
        '{% extends "zoo/card.md.j2" %}{% block notice %}{% endblock %}',
        '{% extends "zoo/card.md.j2" %}{% block notice %}# A model\n\n{{ super() }}{% endblock %}',
        f"<!-- {NOTICE} -->\n",
    ],
)
def test_a_card_that_does_not_begin_with_the_notice_is_refused(
    kimi_zoo: Zoo, kimi: Recipe, text: str
) -> None:
    template(kimi_zoo, text)
    wanted = "the first line after the metadata must say that this is a draft"
    with pytest.raises(TemplateError, match=rf"^templates/card\.md\.j2: {wanted}$") as caught:
        render_card(kimi_zoo, kimi)
    assert NOTICE in caught.value.hint


@pytest.mark.parametrize("what", ["fifo", "folder", "dangling link"])
def test_a_template_that_is_no_file_is_refused(kimi_zoo: Zoo, kimi: Recipe, what: str) -> None:
    kimi_zoo.templates.mkdir()
    path = kimi_zoo.templates / "card.md.j2"
    {"fifo": lambda: os.mkfifo(path), "folder": path.mkdir, "dangling link": lambda: path.symlink_to("x")}[
        what
    ]()
    with pytest.raises(TemplateError, match=r"^templates/card\.md\.j2: cannot be read "):
        render_card(kimi_zoo, kimi)


def test_a_mistake_in_an_overriding_block_names_the_file_of_the_zoo(kimi_zoo: Zoo, kimi: Recipe) -> None:
    template(kimi_zoo, '{% extends "zoo/card.md.j2" %}\n{% block verify %}\n{{ nmae }}\n{% endblock %}')
    with pytest.raises(TemplateError, match=r"^templates/card\.md\.j2:3: 'nmae' is undefined$"):
        render_card(kimi_zoo, kimi)


def test_a_template_that_is_a_link_out_of_the_zoo_is_refused(
    kimi_zoo: Zoo, kimi: Recipe, tmp_path: Any
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    kimi_zoo.templates.mkdir()
    (kimi_zoo.templates / "card.md.j2").symlink_to(secret)
    with pytest.raises(TemplateError, match="a link that leads out of the zoo"):
        render_card(kimi_zoo, kimi)


HOSTILE = "{{7*7}} <script>alert(1)</script> | cell ](javascript:alert(1)) `code` # no \u202e end"
HOSTILE_PROSE = HOSTILE + "\n\n# A heading\n\n| a | b |\n\n<img src=x onerror=alert(1)>\n\n---\n"


def _hostile(data: dict[str, Any]) -> None:
    data.update(title=HOSTILE, summary=HOSTILE_PROSE, motivation=HOSTILE_PROSE)
    data["base"]["about"] = HOSTILE
    data["checkpoint"]["files"]["config.json"] = {"kind": "config", "about": HOSTILE}
    data["draft"]["assumed_from"] = HOSTILE
    data["draft"]["mask_token"]["text"] = HOSTILE
    data["training"].update(run=HOSTILE, about=HOSTILE_PROSE, hidden_states_from=HOSTILE)
    data["training"]["data"].update(name=HOSTILE, disjoint_from=[HOSTILE])
    data["evaluation"]["protocol"] = [HOSTILE_PROSE]
    data["license"] = {"id": "other", "name": HOSTILE, "link": "https://example.org/a>b)<script>|"}
    data["claims"][0].update(against=HOSTILE, text=HOSTILE_PROSE, at={"concurrency": HOSTILE})
    data["caveats"].append({"text": HOSTILE_PROSE})


@pytest.mark.parametrize(
    "own",
    [
        None,
        "{% extends 'zoo/card.md.j2' %}",
        NOTICE + "\n\n{{ title }} {{ summary }} {{ title|line }}",
    ],
)
def test_hostile_values_of_a_recipe_come_out_inert(
    kimi_zoo: Zoo, kimi: Recipe, edited: Any, own: str | None
) -> None:
    before = render_card(kimi_zoo, kimi)
    if own is not None:
        template(kimi_zoo, own)
    text = render_card(kimi_zoo, edited(_hostile))
    body = text.split("---\n", 2)[2]
    assert r"{{7\*7}}" in body
    assert "\u202e" not in text
    assert "\\u202e" in text
    assert "49" not in body.replace("163849", "")
    found = kinds(body)
    assert not found & {"html_block", "html_inline", "image", "hr"}
    assert "javascript" not in str(_links(body))
    if own is None or "extends" in own:
        count = lambda card, kind: sum(token.type == kind for token in _tokens(card))  # noqa: E731
        clean = before.split("---\n", 2)[2]
        assert count(body, "heading_open") == count(clean, "heading_open")
        assert count(body, "table_open") == count(clean, "table_open")
        assert count(body, "tr_open") == count(clean, "tr_open") + 1  # the row "Disjoint from"


def test_hostile_text_in_the_metadata_stays_one_quoted_value(edited: Any, kimi_zoo: Zoo) -> None:
    from ruamel.yaml import YAML

    name = "no---: [x] # {{7*7}}"

    def change(data: dict[str, Any]) -> None:
        data["license"] = {
            "id": "other",
            "name": f"{name}\u202e",
            "link": "https://example.org/\u202elicence",
        }
        data["tags"] = ["no", "1.0", "null", "1e3"]

    text = render_card(kimi_zoo, edited(change))
    block = text.split("---\n")[1]
    data = YAML(typ="safe").load(block)
    assert data["license_name"] == f"{name}\\u202e"
    assert data["tags"][-4:] == ["no", "1.0", "null", "1e3"]
    yaml_1_1 = YAML(typ="safe", pure=True)
    yaml_1_1.version = (1, 1)
    assert yaml_1_1.load(block)["tags"][-4:] == ["no", "1.0", "null", "1e3"]
    assert "\u202e" not in text


def _tokens(body: str) -> list[Any]:
    from tests.card.test_markdown import _parser

    return _parser.parse(body)


def _links(body: str) -> list[Any]:
    return [
        child.attrs for token in _tokens(body) for child in token.children or () if child.type == "link_open"
    ]
