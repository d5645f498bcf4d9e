"""Templates of a pull request, and templates in its words: stopped as K001 with the reason, or inert text.

How the sandbox refuses each construct is in tests/card; here it is what a maintainer sees of it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ci.example import Work
from tests.conftest import Ran
from tests.hostile.outputs import CARD, copy_of, kinds, show, talk, words
from zoo.card.render import NOTICE

Clone = Callable[[str], Work]
Run = Callable[..., Ran]
PATH = "templates/card.md.j2"


def extended(block: str, text: str) -> str:
    """The shipped template with another block."""
    return f'{{% extends "zoo/card.md.j2" %}}\n{{% block {block} %}}\n{text}\n{{% endblock %}}\n'


CODE = {
    "an attribute walk": ("{{ ''.__class__.__mro__ }}", "access to attribute"),
    "an attribute walk in a loop": ("{% for x in results.__class__.__base__ %}{% endfor %}", "unsafe"),
    "a range bomb": ("{% for i in range(999999999) %}x{% endfor %}", "calls nothing but super()"),
    "loops in loops": (
        "{% for a in architecture %}" * 4 + "x" + "{% endfor %}" * 4,
        "loops in loops up to 3",
    ),
    "long output": ("{% for a in architecture %}" * 3 + "x" * 9000 + "{% endfor %}" * 3, "longer than"),
    "a filter with cost": (
        "{% for a in architecture %}" * 3 + "{% if title|line %}{% endif %}" * 400 + "{% endfor %}" * 3,
        "more than 200,000 steps",
    ),
    "a power": ("{{ 9 ** 9 ** 9 }}", 'it has no "**"'),
    "a string repeated": ("{{ 'a' * 999999999 }}", 'it has no "*"'),
    "an include of a file outside": ("{% include '../../../etc/passwd' %}", 'it has no "include"'),
    "an import": ("{% import 'zoo/card.md.j2' as x %}", 'it has no "import"'),
    "an extension of a file outside": ('{% extends "../recipes/tiny.yaml" %}', 'extends nothing but "zoo/'),
    "a macro that calls itself": ("{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", 'it has no "macro"'),
    "names of python": ("{{ self._TemplateReference__context }}", "unsafe"),
    "a template that is no text": ("\x00\ud800", "not UTF-8"),
}
HIDING = {
    "no notice": ("notice", "", "the first line after the metadata must say that this is a draft"),
    "the notice in a comment": ("notice", f"<!-- {NOTICE} -->", "must say that this is a draft"),
    "words before the notice": ("notice", "# A model\n\n{{ super() }}", "must say that this is a draft"),
    "an HTML comment": ("notes", "<!--\n{{ super() }}\n-->", "HTML"),
    "a comment that is never closed": ("opening", "{{ super() }}\n\n<!-- more", "HTML"),
    "a comment in two pieces": ("notes", "<{# #}!--\n{{ super() }}\n--{# #}>", "HTML"),
    "a tag in two pieces": ("notes", "<{% if title %}details>{% endif %}\n\n{{ super() }}", "HTML"),
    "details": ("notes", "<details><summary>More</summary>\n\n{{ super() }}\n\n</details>", "HTML"),
    "a style": ("notes", "<style>table, li {display: none}</style>\n\n{{ super() }}", "HTML"),
    "no size": ("notes", '<span style="font-size:0">\n\n{{ super() }}\n\n</span>', "HTML"),
    "white on white": ("notes", '<font color="white">\n\n{{ super() }}\n\n</font>', "HTML"),
    "a formula": ("notes", "$\\color{white}{\\text{\n{{ super() }}\n}}$", "a formula"),
    "a block of code around all that follows": ("opening", "{{ super() }}\n\n```", "inside a block of code"),
    "a block of code that is never closed": ("version", "{{ super() }}\n\n```", "not closed"),
    "a diagram": ("notes", "```mermaid\n%% {{ super() }}\n```", "another language"),
    "the name of a language": ("notes", "```{{ summary }}\n```", "another language"),
    "the title of a link": ("notes", "[x](https://a.example '{{ summary }}')", "a link with a title"),
    "the definition of a link": ("notes", "[x]: https://a.example '{{ summary }}'", "the definition"),
    "a footnote that nothing refers to": ("notes", "[^x]: {{ summary }}", "the definition"),
    "a cell too many": ("notes", "| a |\n|---|\n| b | {{ summary }} |", "more cells"),
    "an image in place of words": ("notes", "![{{ summary }}](https://evil.example/x.png)", "an image"),
    "a link that runs a script": ("notes", "[x](javascript:alert(1))", "neither https:// nor a path"),
    "characters turned around": ("notes", "\u202e{{ summary }}\u202c", "does not print"),
    "characters turned around by their names": ("notes", "&#x202e;{{ summary }}&#x202c;", "an entity"),
    "a backslash before a value": ("notes", "\\{{ title }}", "a backslash before a value"),
    "a backtick before a value": ("notes", "`{{ target|code }}", "a backtick beside"),
}


@pytest.fixture(scope="module")
def work(example: Work, tmp_path_factory: pytest.TempPathFactory) -> Work:
    """One clone, in which nothing but the template changes, from test to test."""
    return copy_of(example, tmp_path_factory.mktemp("template") / "zoo")


def refused(work: Work, run_zoo: Run, template: str | bytes, expected: str) -> None:
    """``zoo ci`` names the template under every recipe that it touches, and ``zoo card`` writes nothing."""
    before = work.read(CARD)
    work.write(PATH, template)
    shown = show(work, commit=False)
    assert shown.judged.codes == {name: {"K001"} for name in ("second", "third", "fourth")}
    messages = shown.messages("K001")
    assert all(expected in message and "card.md.j2" in message for message in messages), messages
    for form in ("text", "github", "markdown", "comment", "junit"):
        assert "K001" in shown.judged.forms[form]
    ran = run_zoo("--zoo", work.root, "card", "fourth")
    assert ran.status != 0
    assert work.read(CARD) == before


@pytest.mark.parametrize("name", CODE)
def test_a_template_that_runs_reads_or_grows_is_refused(work: Work, run_zoo: Run, name: str) -> None:
    text, expected = CODE[name]
    refused(work, run_zoo, f"{NOTICE}\n\n{text}".encode("utf-8", "surrogatepass"), expected)


@pytest.mark.parametrize("name", HIDING)
def test_a_template_that_hides_what_it_prints_is_refused(work: Work, run_zoo: Run, name: str) -> None:
    block, text, expected = HIDING[name]
    refused(work, run_zoo, extended(block, text), expected)


def test_a_template_that_is_a_link_out_of_the_zoo_is_refused(clone: Clone, run_zoo: Run) -> None:
    work = clone("main")
    (work.root / "templates").mkdir()
    (work.root / PATH).symlink_to("/etc/hostname")
    shown = show(work)
    assert "V013" in shown.judged.codes[""]
    assert run_zoo("--zoo", work.root, "card", "fourth").status != 0


def test_templates_in_the_words_of_a_recipe_are_words(clone: Clone) -> None:
    """Also where the template of the zoo prints them, and beside what could undo an escape."""
    work = clone("main")
    work.write(PATH, extended("opening", "{{ super() }}\n\n{{ title }} and {{ summary|prose }}"))
    text = (
        "{{ 7*7 }} {% include 'x' %} {{ ''.__class__ }} {# note #} {%- raw -%} {{ super() }} ${{ secrets.X }}"
    )
    talk(work, text)
    work.card("second", "third")
    shown = show(work, card=True)
    assert "K001" not in shown.judged.codes["fourth"]
    seen = words(shown.card)
    assert seen.count("{{ 7*7 }} {% include 'x' %} {{ ''.__class__ }} {# note #}") > 5
    assert "49" not in seen
    assert seen.count("It proposes tokens for its target") == 1


def test_a_template_of_the_zoo_with_hostile_words_gives_inert_cards(clone: Clone) -> None:
    work = clone("main")
    table = "| a | b |\n|---|---|\n| {{ title }} | {{ target|code }} |"
    work.write(PATH, extended("verify", f"## {{{{ title }}}}\n\n{table}\n\n- *{{{{ summary|line }}}}*"))
    talk(work, "<b>`<i>` | [x](javascript:a) \\", "``<b>` \\`<i>` ``` <!-- \\")
    work.card("second", "third")
    shown = show(work, card=True)
    assert "K001" not in shown.judged.codes["fourth"]
    assert not kinds(shown.card) & {"html_inline", "html_block", "image"}


def test_what_a_template_leaves_out_shows_in_every_card_of_the_change(clone: Clone) -> None:
    """It may: the cards that lose a section are part of the change, or the change fails."""
    work = clone("main")
    work.write(PATH, extended("notes", ""))
    shown = show(work)
    assert {name: shown.judged.codes.get(name) for name in ("second", "third", "fourth")} == {
        "second": {"K001"},
        "third": {"K001"},
        "fourth": {"K001"},
    }
    work.card("second", "third", "fourth")
    again = show(work)
    assert again.judged.exit == 0
    cards = [each["path"] for each in again.judged.result["changed"] if each["path"].endswith("README.md")]
    assert len(cards) == 3
