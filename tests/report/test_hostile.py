"""Whatever a pull request writes, every form of output is valid, and the text is only text in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import click
import pytest

from tests.conftest import REPOSITORY
from tests.report import made
from tests.report.checks import (
    commands_nothing,
    headings,
    inert_markdown,
    is_shown_as_it_is,
    structure,
    valid_ci,
    valid_junit,
    valid_report,
    valid_sarif,
)
from tests.report.hostile import MEGABYTE, STRINGS
from tests.report.runner import commands
from zoo.card.render import render_card
from zoo.ci.render import render as render_change
from zoo.cli import formats
from zoo.errors import TemplateError
from zoo.printable import json_text, printable
from zoo.recipe.load import usable_recipe
from zoo.recipe.model import Recipe
from zoo.report import text as words
from zoo.report.comment import MARK
from zoo.report.summary import render_reports
from zoo.workspace import Zoo, find_zoo

LOG, PAGE, COMMENT = 200_000, 1024 * 1024, 65_536
Make = Callable[[str], str]


def of_verify(form: str) -> Make:
    @lru_cache(2)
    def render(text: str) -> str:
        report = made.report(text)
        match form:
            case "text":
                return click.unstyle(words.render(report))
            case "json":
                return json_text(report.as_json())
            case "markdown":
                return render_reports([("example", report)])
        return formats.render(form, [("example", report)], "", "zoo verify")

    return render


def of_ci(form: str) -> Make:
    @lru_cache(2)
    def render(text: str) -> str:
        return click.unstyle(render_change(made.change(text), form))

    return render


@pytest.fixture(params=STRINGS, ids=lambda name: name.replace(" ", "-"))
def nasty(request: pytest.FixtureRequest) -> str:
    return STRINGS[request.param]


@pytest.mark.parametrize("make", [of_verify("text"), of_ci("text")], ids=["verify", "ci"])
def test_in_text_it_prints_and_commands_nothing(make: Make, nasty: str) -> None:
    output = make(nasty)
    is_shown_as_it_is(output)
    commands_nothing(output)
    assert len(output) < LOG


@pytest.mark.parametrize(
    ("make", "valid"), [(of_verify("json"), valid_report), (of_ci("json"), valid_ci)], ids=["verify", "ci"]
)
def test_in_json_it_is_a_string_and_the_document_is_valid(
    make: Make, valid: Callable[[dict[str, object]], None], nasty: str
) -> None:
    output = make(nasty)
    assert output.isascii()
    is_shown_as_it_is(output)
    commands_nothing(output)
    document = json.loads(output)
    valid(document)
    report = document if "results" in document else document["drafts"][0]["report"]
    assert report["results"][1]["findings"][0]["message"] == nasty


@pytest.mark.parametrize("make", [of_verify("sarif"), of_ci("sarif")], ids=["verify", "ci"])
def test_in_sarif_it_is_plain_text_and_the_log_is_valid(make: Make, nasty: str) -> None:
    output = make(nasty)
    commands_nothing(output)
    run = valid_sarif(output)
    assert len(run["results"]) == len(valid_sarif(make("words"))["results"])
    assert len(output) < LOG


@pytest.mark.parametrize("make", [of_verify("junit"), of_ci("junit")], ids=["verify", "ci"])
def test_in_junit_it_is_text_and_the_document_is_valid(make: Make, nasty: str) -> None:
    output = make(nasty)
    commands_nothing(output)
    cases = valid_junit(output).findall(".//testcase")
    assert [case.get("name") for case in cases] == [
        case.get("name") for case in valid_junit(make("words")).findall(".//testcase")
    ]
    assert len(output) < LOG


@pytest.mark.parametrize("make", [of_verify("github"), of_ci("github")], ids=["verify", "ci"])
def test_in_annotations_it_is_data_of_our_own_commands(make: Make, nasty: str) -> None:
    output = make(nasty)
    is_shown_as_it_is(output)
    found = commands(output)
    assert [each.name for each in found] == [each.name for each in commands(make("words"))]
    assert {each.name for each in found} <= {"error", "warning", "notice"}
    assert set().union(*(each.properties for each in found)) <= {"file", "line", "endLine", "col", "title"}
    about = next(each for each in found if each.properties["title"] == "C010 dimensions (example)")
    assert (about.properties["file"], about.properties["line"]) == (made.RECIPE, "12")
    assert about.data.split("\n")[0] == printable(nasty, keep="", limit=2_000)
    assert len(output) < LOG


@pytest.mark.parametrize(
    ("make", "limit"),
    [(of_verify("markdown"), PAGE), (of_ci("markdown"), PAGE), (of_ci("comment"), COMMENT)],
    ids=["verify", "ci", "comment"],
)
def test_in_markdown_it_is_words_or_code_and_notifies_nobody(make: Make, limit: int, nasty: str) -> None:
    output = make(nasty)
    is_shown_as_it_is(output)
    commands_nothing(output)
    inert_markdown(output)
    assert headings(output) == headings(make("words"))
    assert len(output.encode()) < limit


def test_the_comment_begins_with_its_mark(nasty: str) -> None:
    assert of_ci("comment")(nasty).startswith(f"{MARK}\n\n## Draft zoo: failed\n")


@pytest.fixture(scope="module")
def recipe() -> Recipe:
    return usable_recipe(find_zoo(REPOSITORY), "kimi-ft-v3")


def card(here: Zoo, recipe: Recipe, text: str) -> str:
    """The card of a recipe that says ``text`` wherever it has prose, without the metadata."""
    caveats = tuple(each._replace(text=text) if each.text else each for each in recipe.caveats)
    claims = tuple(replace(claim, against=text) for claim in recipe.claims)
    page = render_card(here, replace(recipe, title=text, caveats=caveats, claims=claims))
    return page.split("\n---\n", 1)[1]


@pytest.mark.parametrize("name", [name for name, text in STRINGS.items() if text])  # a title is never empty
def test_on_a_card_it_is_words(here: Zoo, recipe: Recipe, name: str) -> None:
    text = STRINGS[name]
    if len(text) > MEGABYTE // 2:
        with pytest.raises(TemplateError, match="is longer than"):
            card(here, recipe, text)
        return
    body = card(here, recipe, text)
    is_shown_as_it_is(body)
    commands_nothing(body)
    assert structure(body) == structure(card(here, recipe, "words"))
