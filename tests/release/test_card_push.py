"""``zoo card --push``: a card changes on main, and no version does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from tests.conftest import Ran
from tests.release.conftest import Place
from tests.release.hub_place import HubPlace, hub, on_hub, publish_by_hand  # noqa: F401
from zoo.card.notices import notice, successor_of, with_notice, with_successor

CARD = "---\nlicense: mit\ntags:\n  - a\n---\n\n> **A draft.** Of two\n> lines.\n\n# Title\n\nWords.\n"


def card(place: Place, *args: str) -> Ran:
    return place.run("--zoo", place.root, "card", "tiny", "--push", "--timeout", "20", *args)


def readme(on_hub: HubPlace, repo: str, revision: str) -> str:  # noqa: F811
    return Path(on_hub.api.hf_hub_download(repo, "README.md", revision=revision)).read_text()


def test_a_better_card_replaces_the_one_on_main_and_the_tag_keeps_its_own(on_hub: HubPlace) -> None:  # noqa: F811
    assert on_hub.push().status == 0
    released, before = on_hub.tags["v1.0.0"], readme(on_hub, on_hub.repo, "v1.0.0")
    ran = card(on_hub.place, "--to", on_hub.url)
    assert ran.status == 0, ran.err
    # The recipe is what it was, so that the card is: nothing to commit, and the log says which one is there.
    assert on_hub.commits[0] == released
    templates = on_hub.place.root / "templates"
    templates.mkdir()
    (templates / "card.md.j2").write_text(
        '{% extends "zoo/card.md.j2" %}{% block opening %}# A better card\n{% endblock %}'
    )
    ran = card(on_hub.place, "--to", on_hub.url)
    assert ran.status == 0, ran.err
    assert "# A better card" in readme(on_hub, on_hub.repo, "main")
    assert readme(on_hub, on_hub.repo, "v1.0.0") == before
    assert len(on_hub.commits) == 3
    assert card(on_hub.place, "--to", on_hub.url).status == 0
    assert len(on_hub.commits) == 3
    log = (on_hub.place.root / "release" / "tiny" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in log] == ["published", "card", "card"]
    # The version itself is still what was released.
    assert on_hub.push().status == 0
    assert len(on_hub.commits) == 3


def test_a_card_of_a_version_that_is_not_on_main_is_refused(on_hub: HubPlace) -> None:  # noqa: F811
    assert on_hub.push().status == 0
    on_hub.place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    refused = card(on_hub.place, "--to", on_hub.url).err
    assert "there is no release" in refused
    assert "zoo release tiny --push --to hf" in refused
    assert on_hub.push().status == 0
    on_hub.place.edit_recipe("version: 1.1.0", "version: 1.0.0")
    ran = card(on_hub.place, "--to", on_hub.url)
    assert (ran.status, "main holds 1.1.0, and the card is that of 1.0.0" in ran.err) == (1, True)


def test_a_folder_has_no_card_to_change(place: Place) -> None:
    assert place.push().status == 0
    ran = card(place)
    assert (ran.status, "only on a hub can a card change" in ran.err) == (2, True)
    ran = card(place, "--to", "dir:published")
    assert (ran.status, "is no hub" in ran.err) == (2, True)


def test_an_earlier_repository_names_its_successor_only_when_asked(on_hub: HubPlace) -> None:  # noqa: F811
    assert on_hub.push().status == 0
    old, new = on_hub.repo, f"{on_hub.repo}-v2"
    on_hub.place.edit_recipe(f"repo: {old}", f"repo: {new}")
    on_hub.place.edit_recipe("version: 1.0.0", "version: 2.0.0")
    too_early = card(on_hub.place, "--to", on_hub.url, "--supersede", old)
    assert (too_early.status, "no version of tiny was published to" in too_early.err) == (2, True)
    assert on_hub.push().status == 0
    assert ModelCard(readme(on_hub, old, "main")).data.get("new_version") is None
    for _ in range(2):
        ran = card(on_hub.place, "--to", on_hub.url, "--supersede", old)
        assert ran.status == 0, ran.err
    assert ModelCard(readme(on_hub, old, "main")).data.to_dict()["new_version"] == new
    assert len(on_hub.api.list_repo_commits(old)) == 3
    wrong = card(on_hub.place, "--to", on_hub.url, "--supersede", "acme/other")
    assert (wrong.status, 'was published to "acme/other"' in wrong.err) == (2, True)
    history = on_hub.place.run("--zoo", on_hub.place.root, "history", "tiny").out
    assert f"the card of {old} names {new} as its successor" in history


@pytest.mark.parametrize("args", [("--to", "hf"), ("--supersede", "a/b")])
def test_options_of_a_push_need_it(place: Place, args: tuple[str, ...]) -> None:
    ran = place.run("--zoo", place.root, "card", "tiny", *args)
    assert (ran.status, "need --push" in ran.err) == (2, True)


def test_a_notice_stands_behind_the_first_paragraph_and_is_found_again() -> None:
    one = notice("tiny", ["1.0.0"], {"1.0.0": "broken"})
    both = notice("tiny", ["1.0.0", "1.1.0", "1.2.0"], {"1.0.0": "broken", "1.1.0": "worse"})
    card = with_notice(CARD, one)
    assert (
        card.index("lines.")
        < card.index("**Version 1.0.0 of tiny is withdrawn.** broken")
        < card.index("# T")
    )
    assert with_notice(card, one) == card
    assert with_notice(card, both).count("is withdrawn") == 2
    assert "broken (Use 1.2.0.)" in both
    assert with_notice(with_notice(card, both), "") == CARD


@pytest.mark.parametrize("card", ["", "words", "---\nnot closed\n\nwords\n", "# T\n\nwords\n", CARD])
def test_a_notice_leaves_any_other_text_as_it_is(card: str) -> None:
    text = notice("tiny", ["1.0.0"], {"1.0.0": "broken"})
    marked = with_notice(card, text)
    assert marked.count(text) == 1
    assert with_notice(marked, text) == marked
    assert with_notice(marked, "").strip() == card.strip()


def test_a_successor_is_one_line_of_the_metadata() -> None:
    named = with_successor(CARD, "acme/new")
    assert ModelCard(named).data.to_dict() == {"license": "mit", "tags": ["a"], "new_version": "acme/new"}
    assert with_successor(named, "acme/newer").count("new_version") == 1
    assert successor_of(with_successor(named, "acme/newer")) == "acme/newer"
    assert with_successor(named, "") == CARD
    assert successor_of(CARD) == successor_of("words") == ""
    assert ModelCard(with_successor("# T\n", "acme/new")).data.to_dict() == {"new_version": "acme/new"}
    inside = CARD + "\nnew_version: acme/x\n"
    assert successor_of(inside) == ""
    assert with_successor(inside, "").endswith("\nnew_version: acme/x\n")
