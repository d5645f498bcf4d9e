"""A pull request on a hub: a real hub in a process of its own, the real client, a repository that is new each
time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.community import DiscussionComment

from tests.ci.example import Work
from tests.conftest import Ran
from tests.release.conftest import Place, _template, place
from tests.release.hub_place import HubPlace, hub, on_hub, publish_by_hand
from zoo.remote import fork
from zoo.report.comment import MARK

__all__ = ["Place", "_template", "hub", "on_hub", "place"]

FILES = ("config.json", "model.safetensors", "report.pdf")


@pytest.fixture
def uploaded(on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch) -> HubPlace:
    """The repository with the draft on main."""
    monkeypatch.delenv("HF_TOKEN")
    on_hub.make_repo(private=False)
    files = {name: (on_hub.place.checkpoint / name).read_bytes() for name in FILES}
    propose(on_hub.api, on_hub.repo, files, pull_request=False)
    return on_hub


def propose(api: HfApi, repo: str, files: dict[str, bytes], *, pull_request: bool = True) -> None:
    operations = [CommitOperationAdd(name, content) for name, content in files.items()]
    api.create_commit(repo, operations, commit_message="change", create_pr=pull_request)


@pytest.fixture
def ci(uploaded: HubPlace, run_zoo: Callable[..., Ran]) -> Callable[..., Ran]:
    def run(*args: str, number: int = 1) -> Ran:
        options = ["--hub-pr", f"{uploaded.repo}#{number}", "--endpoint", uploaded.url, "--timeout", "20"]
        return run_zoo("--zoo", uploaded.place.root, "ci", *options, *args)

    return run


def errors(ran: Ran) -> set[str]:
    found: list[dict[str, Any]] = [
        finding
        for draft in json.loads(ran.out)["drafts"]
        for result in draft["report"]["results"]
        for finding in result["findings"]
    ]
    return {each["code"] for each in found if each["severity"] == "error"}


def comments(place: HubPlace) -> list[DiscussionComment]:
    events = place.api.get_discussion_details(place.repo, 1).events
    return [event for event in events if isinstance(event, DiscussionComment) and event.content]


def test_a_good_pull_request_passes(uploaded: HubPlace, ci: Callable[..., Ran]) -> None:
    weights = bytearray((uploaded.place.checkpoint / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    propose(uploaded.api, uploaded.repo, {"model.safetensors": bytes(weights)})
    ran = ci("--format", "json")
    result = json.loads(ran.out)
    assert ran.status == 0, ran.out + ran.err
    assert result["changed"] == [{"path": "model.safetensors", "kind": "changed"}]
    assert [draft["name"] for draft in result["drafts"]] == ["tiny"]
    assert result["base_commit"] == uploaded.commits[0]
    assert result["about"] == f"{uploaded.repo}#1"


def test_another_config_is_refused_by_the_recipe(uploaded: HubPlace, ci: Callable[..., Ran]) -> None:
    config = json.loads((uploaded.place.checkpoint / "config.json").read_text())
    config["block_size"] = 8
    propose(uploaded.api, uploaded.repo, {"config.json": json.dumps(config).encode()})
    ran = ci("--format", "json")
    assert ran.status == 1
    assert "C011" in errors(ran)
    [draft] = json.loads(ran.out)["drafts"]
    assert [change["key"] for change in draft["diff"]["config"]] == ["block_size"]


def test_a_card_of_somebody_elses_making_is_refused(uploaded: HubPlace, ci: Callable[..., Ran]) -> None:
    propose(uploaded.api, uploaded.repo, {"README.md": b"# Twice as fast\n"})
    ran = ci("--format", "json")
    assert ran.status == 1
    assert errors(ran) == {"K001"}


def test_other_weights_of_a_published_version_are_refused(uploaded: HubPlace, ci: Callable[..., Ran]) -> None:
    assert uploaded.place.push().status == 0
    weights = bytearray((uploaded.place.checkpoint / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    propose(uploaded.api, uploaded.repo, {"model.safetensors": bytes(weights)})
    ran = ci("--format", "json")
    assert ran.status == 1
    assert errors(ran) == {"V001"}


def test_the_comment_is_updated_and_not_repeated(
    uploaded: HubPlace, ci: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    propose(uploaded.api, uploaded.repo, {"README.md": b"# Twice as fast\n"})
    # Anybody can write the mark; a comment of somebody else is left alone.
    HfApi(uploaded.url, token=uploaded.hub.stranger_token).comment_discussion(
        uploaded.repo, 1, f"{MARK}\nGood!"
    )
    monkeypatch.setenv("HF_TOKEN", uploaded.hub.token)
    said = [ci("--comment").err for _ in range(2)]
    assert "posted a comment" in said[0]
    assert "says so already" in said[1]
    propose_again(uploaded)
    assert "updated the comment" in ci("--comment").err
    ours = [each for each in comments(uploaded) if each.author == "alice" and each.content.startswith(MARK)]
    assert len(ours) == 1
    assert ours[0].edited
    assert "K001" not in ours[0].content
    assert uploaded.hub.token not in "".join(said)


def propose_again(uploaded: HubPlace) -> None:
    """The pull request gets the card that renders."""
    root = uploaded.place.root
    assert uploaded.place.run("--zoo", root, "card", "tiny").status == 0
    card = (Path(root) / "release/tiny/1.0.0/README.md").read_bytes()
    operations = [CommitOperationAdd("README.md", card)]
    uploaded.api.create_commit(uploaded.repo, operations, commit_message="again", revision="refs/pr/1")


def test_a_release_that_was_proposed_passes(on_hub: HubPlace, run_zoo: Callable[..., Ran]) -> None:
    on_hub.make_repo(private=False)
    assert on_hub.push("--pr").status == 0
    spec = ["--hub-pr", f"{on_hub.repo}#1", "--endpoint", on_hub.url]
    ran = run_zoo("--zoo", on_hub.place.root, "ci", *spec, "--format", "json")
    assert (ran.status, errors(ran)) == (0, set()), ran.out


def test_a_comment_needs_a_token(uploaded: HubPlace, ci: Callable[..., Ran]) -> None:
    propose(uploaded.api, uploaded.repo, {"README.md": b"# Twice as fast\n"})
    ran = ci("--comment")
    assert ran.status == 2
    assert "there is no token" in ran.err


def test_a_repository_that_no_recipe_has_is_named(uploaded: HubPlace, run_zoo: Callable[..., Ran]) -> None:
    ran = run_zoo(
        "--zoo", uploaded.place.root, "ci", "--hub-pr", "acme/unknown#1", "--endpoint", uploaded.url
    )
    assert ran.status == 2
    assert 'no recipe of this zoo has the repository "acme/unknown"' in ran.err


def test_a_tag_that_was_moved_on_the_hub_is_found(on_hub: HubPlace, tmp_path: Path) -> None:
    assert on_hub.push().status == 0
    work = Work(on_hub.place.root, tmp_path)
    work.git("init", "-q", "-b", "main")
    work.commit()
    on_hub.place.edit_recipe("title: A tiny draft", "title: A small draft")
    options = ["--endpoint", on_hub.url, "--timeout", "20"]
    assert work.ci(*options)["exit"] == 0
    publish_by_hand(on_hub.api, on_hub.repo, notes__md="other")
    on_hub.api.delete_tag(on_hub.repo, tag="v1.0.0")
    on_hub.api.create_tag(on_hub.repo, tag="v1.0.0", revision="main")
    result = work.ci(*options)
    assert result["exit"] == 1
    [draft] = result["drafts"]
    found = [each for each in draft["report"]["results"] if each["code"] == "V005"]
    assert [each["outcome"] for each in found] == ["failed"]
    assert 'the tag "v1.0.0" is at' in found[0]["findings"][0]["message"]


def test_a_tag_in_a_repository_that_the_token_may_not_see_is_not_called_gone(
    on_hub: HubPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_hub.push().status == 0
    work = Work(on_hub.place.root, tmp_path)
    work.git("init", "-q", "-b", "main")
    work.commit()
    on_hub.place.edit_recipe("title: A tiny draft", "title: A small draft")
    monkeypatch.setenv("HF_TOKEN", on_hub.hub.stranger_token)
    [draft] = work.ci("--endpoint", on_hub.url, "--timeout", "20")["drafts"]
    [found] = [each for each in draft["report"]["results"] if each["code"] == "V005"]
    assert found["outcome"] == "not_checked"
    assert "the hub shows no such repository to this token (404)" in found["reason"]


@pytest.mark.parametrize("spec", ["acme/tiny", "acme/tiny#0", "acme#1", "../x#1", "acme/tiny#1\n", "a/b#1#2"])
def test_what_is_no_pull_request_is_refused(place: Place, spec: str) -> None:
    ran = place.run("--zoo", place.root, "ci", "--hub-pr", spec)
    assert ran.status == 2
    assert "is not a pull request of a hub" in ran.err


def test_a_pull_request_that_is_not_there_is_called_so(uploaded: HubPlace, ci: Callable[..., Ran]) -> None:
    ran = ci(number=7)
    assert ran.status == 2
    assert f"there is no pull request 7 of {uploaded.repo} (the hub answered 404)" in ran.err
    assert f"{uploaded.url}/{uploaded.repo}/discussions" in ran.err


def test_a_pull_request_is_compared_with_where_it_left_main(
    uploaded: HubPlace, ci: Callable[..., Ran]
) -> None:
    """What main got since is no change of it: the card of a release is not "removed"."""
    left = uploaded.commits[0]
    propose(uploaded.api, uploaded.repo, {"notes.md": b"about the data"})
    publish_by_hand(uploaded.api, uploaded.repo, README__md="# The card of a release")
    ran = ci("--format", "json")
    result = json.loads(ran.out)
    assert (ran.status, errors(ran)) == (0, set()), ran.out
    assert result["base_commit"] == left
    assert result["base_ahead"] == 1
    assert result["changed"] == [{"path": "notes.md", "kind": "added"}]


def test_a_pull_request_far_behind_is_compared_with_where_it_left_main(
    uploaded: HubPlace, ci: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub lists 50 commits at a time; beyond so many pages, main is compared as it is now."""
    left = uploaded.commits[0]
    propose(uploaded.api, uploaded.repo, {"notes.md": b"about the data"})
    for number in range(52):
        publish_by_hand(uploaded.api, uploaded.repo, other__md=str(number))
    result = json.loads(ci("--format", "json").out)
    assert result["base_commit"] == left
    assert result["base_ahead"] == 52
    monkeypatch.setattr(fork, "PAGES", 1)
    result = json.loads(ci("--format", "json").out)
    assert result["base_commit"] == uploaded.commits[0]
    assert result["base"] == (
        f"{uploaded.repo} at main (where the pull request left it cannot be found in the last commits)"
    )
    assert {"path": "other.md", "kind": "removed"} in result["changed"]


def test_a_pull_request_whose_files_main_has_by_now_has_nothing_to_judge(
    uploaded: HubPlace, ci: Callable[..., Ran]
) -> None:
    propose(uploaded.api, uploaded.repo, {"notes.md": b"about the data"})
    publish_by_hand(uploaded.api, uploaded.repo, notes__md="about the data", README__md="# A card")
    ran = ci()
    assert ran.status == 0, ran.out + ran.err
    assert "passed  nothing to judge" in ran.out
    assert "Nothing to judge." in ci("--format", "comment").out
    assert json.loads(ci("--format", "json").out)["drafts"] == []


def test_weights_that_were_released_after_the_pull_request_are_not_held_against_it(
    uploaded: HubPlace, ci: Callable[..., Ran]
) -> None:
    propose(uploaded.api, uploaded.repo, {"notes.md": b"about the data"})
    weights = bytearray((uploaded.place.checkpoint / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (uploaded.place.checkpoint / "model.safetensors").write_bytes(weights)
    assert uploaded.place.push().status == 0
    propose(uploaded.api, uploaded.repo, {"model.safetensors": bytes(weights)}, pull_request=False)
    ran = ci("--format", "json")
    assert (ran.status, errors(ran)) == (0, set()), ran.out
