"""``zoo promote``: an alias is where it was last pointed, and versions never move."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.release.conftest import Place
from tests.release.hub_place import HubPlace, hub, on_hub, proxied, publish_by_hand  # noqa: F401
from tests.release.hub_proxy import Proxy
from tests.release.tiny_zoo import make_checkpoint

FAULTS = ("500 before", "500 after", "429", "drop before", "drop after")


def promote(place: Place, version: str, *args: str, alias: str = "stable") -> tuple[int, str, str]:
    spec = f"tiny@{version}"
    ran = place.run("--zoo", place.root, "promote", spec, "--alias", alias, "--timeout", "20", *args)
    return ran.status, ran.out, ran.err


def events_of(place: Place) -> list[tuple[str, str]]:
    text = (place.root / "release" / "tiny" / "log.jsonl").read_text()
    found = [json.loads(line) for line in text.splitlines()]
    return [(event["alias"], event["version"]) for event in found if event["event"] == "aliased"]


def two_versions(place: Place, push) -> None:
    """1.0.0, and 1.1.0 with other weights and one file less."""
    assert push().status == 0
    place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    place.edit_recipe("    report.pdf: document\n", "")
    make_checkpoint(place.root, place.root / "other")
    place.edit_recipe("source: ./checkpoint", "source: ./other")
    config = json.loads((place.root / "other" / "config.json").read_bytes())
    (place.root / "other" / "config.json").write_text(json.dumps(config, indent=1))
    assert push().status == 0


@pytest.mark.parametrize(
    "alias", ["main", "master", "v1", "1.0.0", "Stable", "a/b", "a b", "deadbeef", "-x", "x" * 41, ""]
)
def test_what_looks_like_something_else_is_no_alias(place: Place, alias: str) -> None:
    assert place.push().status == 0
    status, _, err = promote(place, "1.0.0", alias=alias)
    assert (status, "cannot be an alias" in err) == (2, True)
    assert events_of(place) == []


def test_in_a_folder_the_index_knows_the_alias_and_rolling_back_is_promoting_the_older_one(
    place: Place,
) -> None:
    two_versions(place, place.push)
    assert promote(place, "1.0.0")[0] == 0
    assert promote(place, "1.1.0")[0] == 0
    index = json.loads((place.published / "index.json").read_bytes())
    assert index["aliases"] == {"tiny": {"stable": "1.1.0"}}
    status, out, _ = promote(place, "1.0.0")
    assert (status, "stable is 1.0.0, was 1.1.0" in out) == (0, True)
    status, out, _ = promote(place, "1.0.0")
    assert (status, "stable is 1.0.0 already" in out) == (0, True)
    assert events_of(place) == [("stable", "1.0.0"), ("stable", "1.1.0"), ("stable", "1.0.0")]
    index = json.loads((place.published / "index.json").read_bytes())
    assert index["aliases"] == {"tiny": {"stable": "1.0.0"}}
    assert "1.0.0 (stable), 1.1.0" in place.run("--zoo", place.root, "list").out


def test_a_yank_names_the_aliases_that_still_point_there(place: Place) -> None:
    assert place.push().status == 0
    assert promote(place, "1.0.0")[0] == 0
    ran = place.run("--zoo", place.root, "yank", "tiny@1.0.0", "--reason", "broken")
    assert "stable at dir:published still is 1.0.0" in ran.err


def test_a_version_that_was_never_released_cannot_be_promoted(place: Place) -> None:
    status, _, err = promote(place, "1.0.0")
    assert (status, "there is no release" in err) == (2, True)


def test_on_a_hub_an_alias_is_a_branch_with_exactly_the_files_of_its_version(
    on_hub: HubPlace,  # noqa: F811
) -> None:
    two_versions(on_hub.place, on_hub.push)
    tags, main = on_hub.tags, on_hub.commits
    assert promote(on_hub.place, "1.0.0", "--to", on_hub.url)[0] == 0
    assert branch(on_hub) == tags["v1.0.0"]
    for version in ("1.1.0", "1.0.0", "1.0.0"):
        status, _, err = promote(on_hub.place, version, "--to", on_hub.url)
        assert status == 0, err
        assert tree(on_hub, "stable") == tree(on_hub, f"v{version}")
    # It was never deleted: every state is a commit of its branch, and says what it was.
    titles = [commit.title for commit in on_hub.api.list_repo_commits(on_hub.repo, revision="stable")]
    assert titles[:2] == ["stable is v1.0.0", "stable is v1.1.0"]
    assert (on_hub.tags, on_hub.commits) == (tags, main)
    assert [version for _, version in events_of(on_hub.place)] == ["1.0.0", "1.1.0", "1.0.0"]


def test_what_was_cut_off_before_the_log_is_finished_by_the_same_command(
    on_hub: HubPlace,  # noqa: F811
) -> None:
    two_versions(on_hub.place, on_hub.push)
    for version in ("1.0.0", "1.1.0"):
        assert promote(on_hub.place, version, "--to", on_hub.url)[0] == 0
    log = on_hub.place.root / "release" / "tiny" / "log.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    before = branch(on_hub)
    assert promote(on_hub.place, "1.1.0", "--to", on_hub.url)[0] == 0
    assert branch(on_hub) == before
    assert [version for _, version in events_of(on_hub.place)] == ["1.0.0", "1.1.0"]


def test_a_branch_that_somebody_committed_to_is_not_taken_over(on_hub: HubPlace) -> None:  # noqa: F811
    two_versions(on_hub.place, on_hub.push)
    on_hub.api.create_branch(on_hub.repo, branch="stable")
    from huggingface_hub import CommitOperationAdd

    theirs = on_hub.api.create_commit(
        on_hub.repo, [CommitOperationAdd("theirs.txt", b"work")], commit_message="w", revision="stable"
    ).oid
    status, _, err = promote(on_hub.place, "1.0.0", "--to", on_hub.url)
    assert (status, "holds what is no version" in err) == (1, True)
    assert branch(on_hub) == theirs
    assert events_of(on_hub.place) == []


def test_a_tag_that_moved_is_not_promoted(on_hub: HubPlace) -> None:  # noqa: F811
    assert on_hub.push().status == 0
    publish_by_hand(on_hub.api, on_hub.repo, other__txt="by hand")
    on_hub.api.delete_tag(on_hub.repo, tag="v1.0.0")
    on_hub.api.create_tag(on_hub.repo, tag="v1.0.0", revision="main")
    status, _, err = promote(on_hub.place, "1.0.0", "--to", on_hub.url)
    assert (status, "and the log says" in err) == (1, True)
    assert branch(on_hub) == ""


@pytest.mark.parametrize(
    ("where", "fault"),
    [("/branch/", "500 after"), ("/branch/", "drop before"), *(("/commit/", fault) for fault in FAULTS)],
)
def test_a_lost_answer_leaves_the_alias_at_its_version(
    proxied: tuple[HubPlace, Proxy],  # noqa: F811
    where: str,
    fault: str,
) -> None:
    on_hub, proxy = proxied  # noqa: F811
    two_versions(on_hub.place, on_hub.push)
    if where == "/commit/":
        assert promote(on_hub.place, "1.0.0", "--to", on_hub.url)[0] == 0
    proxy.break_once(where, fault)
    status, _, err = promote(on_hub.place, "1.1.0", "--to", on_hub.url)
    assert status == 0, err
    assert tree(on_hub, "stable") == tree(on_hub, "v1.1.0")
    commits = on_hub.api.list_repo_commits(on_hub.repo, revision="stable")
    assert sum(commit.title.startswith("stable is") for commit in commits) == (where == "/commit/")


def test_two_promotions_at_the_same_time_do_not_overwrite_each_other(
    proxied: tuple[HubPlace, Proxy],  # noqa: F811
) -> None:
    on_hub, proxy = proxied  # noqa: F811
    two_versions(on_hub.place, on_hub.push)
    assert promote(on_hub.place, "1.0.0", "--to", on_hub.url)[0] == 0

    def other(request: str) -> None:
        if "/commit/" in request:
            proxy.before = lambda request: None
            publish(on_hub, "stable")

    proxy.before = other
    status, _, err = promote(on_hub.place, "1.1.0", "--to", on_hub.url)
    assert (status, "stable of" in err and "moved while this command ran" in err) == (1, True), err


def publish(on_hub: HubPlace, revision: str) -> None:  # noqa: F811
    from huggingface_hub import CommitOperationAdd

    on_hub.api.create_commit(
        on_hub.repo, [CommitOperationAdd("x.txt", b"x")], commit_message="x", revision=revision
    )


def branch(on_hub: HubPlace) -> str:  # noqa: F811
    branches = on_hub.api.list_repo_refs(on_hub.repo).branches
    return next((each.target_commit for each in branches if each.name == "stable"), "")


def tree(on_hub: HubPlace, revision: str) -> dict[str, str]:  # noqa: F811
    info = on_hub.api.model_info(on_hub.repo, revision=revision, files_metadata=True)
    return {each.rfilename: each.blob_id for each in info.siblings}


def test_nothing_but_the_place_that_is_named_is_changed(place: Place, tmp_path: Path) -> None:
    outside = f"dir:{tmp_path / 'outside'}"
    assert place.push().status == 0
    assert place.push("--to", outside).status == 0
    assert promote(place, "1.0.0", "--to", outside)[0] == 0
    assert "aliases" in json.loads((tmp_path / "outside" / "index.json").read_bytes())
    assert "aliases" not in json.loads((place.published / "index.json").read_bytes())
