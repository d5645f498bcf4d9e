"""``zoo release --pr`` and ``zoo merge``: a release that somebody proposes and somebody else makes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest
from huggingface_hub import CommitOperationAdd

from tests.conftest import Ran
from tests.release.hub_place import HubPlace, other_weights, publish_by_hand
from tests.release.hub_proxy import Proxy
from tests.reliability.scenario import git


@pytest.fixture
def proposed(on_hub: HubPlace) -> HubPlace:
    """A release that waits as pull request 1 of an empty repository."""
    on_hub.make_repo(private=False)
    ran = on_hub.push("--pr")
    assert ran.status == 0, ran.err
    return on_hub


@pytest.fixture
def merge(on_hub: HubPlace, run_zoo: Callable[..., Ran]) -> Callable[..., Ran]:
    def run(*args: str) -> Ran:
        root = on_hub.place.root
        return run_zoo("--zoo", root, "merge", "tiny@1.0.0", "--to", on_hub.url, "--timeout", "20", *args)

    return run


def pull_requests(on_hub: HubPlace) -> dict[str, str]:
    refs = on_hub.api.list_repo_refs(on_hub.repo, include_pull_requests=True)
    return {each.ref: each.target_commit for each in refs.pull_requests or []}


def events(on_hub: HubPlace) -> list[dict]:
    return [json.loads(line) for line in on_hub.log.splitlines()]


def test_a_proposal_is_a_pull_request_without_a_tag(proposed: HubPlace) -> None:
    assert len(proposed.commits) == 1
    assert proposed.tags == {}
    [(ref, commit)] = pull_requests(proposed).items()
    [event] = events(proposed)
    assert (ref, event["event"], event["ref"], event["pull_request"]) == ("refs/pr/1", "proposed", commit, 1)


def test_a_stranger_may_propose_what_only_a_member_may_release(
    on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_hub.make_repo(private=False)
    monkeypatch.setenv("HF_TOKEN", on_hub.hub.stranger_token)
    ran = on_hub.push("--pr")
    assert ran.status == 0, ran.err
    assert f"tiny 1.0.0 is proposed at {on_hub.url}/{on_hub.repo}/discussions/1" in ran.out
    assert "to merge and tag it: zoo merge tiny@1.0.0" in ran.out


def test_proposing_again_opens_no_second_pull_request(proposed: HubPlace) -> None:
    again = proposed.push("--pr")
    assert again.status == 0, again.err
    assert len(pull_requests(proposed)) == 1
    assert len(events(proposed)) == 1


def test_a_lost_answer_opens_no_second_pull_request(proxied: tuple[HubPlace, Proxy]) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()
    proxy.break_once("/commit/main", "drop after")
    ran = on_hub.push("--pr")
    assert ran.status == 0, ran.err
    assert len(pull_requests(on_hub)) == 1


def test_proposing_again_from_a_later_commit_of_git_opens_no_second_pull_request(on_hub: HubPlace) -> None:
    """The provenance names the commit: committing the record of a proposal makes another manifest."""
    root = on_hub.place.root
    on_hub.make_repo(private=False)
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "The zoo")
    assert on_hub.push("--pr").status == 0
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Propose tiny 1.0.0")
    again = on_hub.push("--pr")
    assert again.status == 0, again.err
    assert "proposed before with the same bytes" in again.out
    assert list(pull_requests(on_hub)) == ["refs/pr/1"]
    assert len(events(on_hub)) == 1


def test_a_pull_request_that_main_left_behind_is_not_called_proposed(
    proposed: HubPlace, merge: Callable[..., Ran]
) -> None:
    publish_by_hand(proposed.api, proposed.repo, other__txt="theirs")
    ran = proposed.push("--pr")
    assert ran.status == 1, ran.out
    assert "is proposed at" not in ran.out
    assert "pull request 1 of" in ran.err
    assert f"close it at {proposed.url}/{proposed.repo}/discussions/1" in ran.err
    assert len(pull_requests(proposed)) == 1
    proposed.api.change_discussion_status(proposed.repo, 1, "closed")
    assert proposed.push("--pr").status == 0
    assert events(proposed)[-1]["pull_request"] == 2
    assert merge().status == 0
    assert proposed.tags == {"v1.0.0": proposed.commits[0]}


def test_another_checkpoint_waits_until_the_open_proposal_of_the_version_is_closed(
    proxied: tuple[HubPlace, Proxy], merge: Callable[..., Ran]
) -> None:
    proposed, proxy = proxied
    proposed.make_repo(private=False)
    assert proposed.push("--pr").status == 0
    other_weights(proposed)
    for run in (proposed.push, proposed.push, proposed.release):
        proxy.requests.clear()
        ran = run("--pr")
        assert ran.status == 1
        assert "pull request 1 of " in ran.out + ran.err
        assert "is open, and proposes tiny 1.0.0 with other files" in ran.out + ran.err
        assert f"close it at {proposed.url}/{proposed.repo}/discussions/1" in ran.out + ran.err
        assert not [each for each in proxy.requests if "/info/lfs/" in each]
    assert (list(pull_requests(proposed)), len(events(proposed))) == (["refs/pr/1"], 1)
    proposed.api.change_discussion_status(proposed.repo, 1, "closed")
    assert proposed.push("--pr").status == 0
    assert [event["pull_request"] for event in events(proposed)] == [1, 2]
    assert merge().status == 0
    assert proposed.tags == {"v1.0.0": proposed.commits[0]}


def test_the_next_version_can_be_proposed_beside_an_open_proposal(proposed: HubPlace) -> None:
    other_weights(proposed)
    proposed.place.edit_recipe("version: 1.0.0", "version: 1.1.0")
    ran = proposed.push("--pr")
    assert ran.status == 0, ran.err
    assert len(pull_requests(proposed)) == 2


def test_a_proposal_that_nobody_recorded_is_found_at_the_hub(proposed: HubPlace) -> None:
    """As after a kill, or in another clone of the zoo: the log does not know of the pull request."""
    shutil.rmtree(proposed.place.root / "release" / "tiny")
    assert proposed.push("--pr").status == 0
    assert len(pull_requests(proposed)) == 1
    shutil.rmtree(proposed.place.root / "release" / "tiny")
    other_weights(proposed)
    ran = proposed.push("--pr")
    proposed.refused(ran, "proposes tiny 1.0.0 with other files", status=1)
    assert len(pull_requests(proposed)) == 1


def test_trouble_while_looking_for_an_open_proposal_opens_no_second_one(
    proxied: tuple[HubPlace, Proxy],
) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo(private=False)
    assert on_hub.push("--pr").status == 0
    shutil.rmtree(on_hub.place.root / "release" / "tiny")
    other_weights(on_hub)
    proxy.break_once(f"/resolve/{pull_requests(on_hub)['refs/pr/1']}/manifest.json", "500 before")
    ran = on_hub.push("--pr")
    assert (ran.status, "pull request 1 of " in ran.err) == (1, True), ran.err
    assert proxy.times == 0
    assert len(pull_requests(on_hub)) == 1


@pytest.mark.parametrize("content", [b"{}", b'{"name": "tiny"'])
def test_a_pull_request_with_a_manifest_of_somebodys_own_is_in_nobodys_way(
    on_hub: HubPlace, content: bytes
) -> None:
    on_hub.make_repo(private=False)
    operations = [CommitOperationAdd("manifest.json", content)]
    on_hub.api.create_commit(on_hub.repo, operations, commit_message="mine", create_pr=True)
    assert on_hub.push("--pr").status == 0
    assert len(pull_requests(on_hub)) == 2


def test_who_may_not_read_a_gated_repository_is_told_to_ask_for_access(
    on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_hub.make_repo(private=False)
    assert on_hub.push("--gated", "manual").status == 0
    monkeypatch.setenv("HF_TOKEN", on_hub.hub.stranger_token)
    ran = on_hub.push("--pr")
    assert (ran.status, "the hub answered 403" in ran.err) == (2, True), ran.err
    assert f"if it is gated, ask for access on {on_hub.url}/{on_hub.repo}" in ran.err


def test_a_token_that_may_only_read_is_told_what_a_proposal_needs(
    on_hub: HubPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_hub.make_repo(private=False)
    monkeypatch.setenv("HF_TOKEN", on_hub.hub.read_token)
    ran = on_hub.push("--pr")
    on_hub.refused(ran, "may not do this (403)", "use a token with the role write")
    assert "--pr" not in ran.err


def test_a_proposal_needs_a_repository(on_hub: HubPlace) -> None:
    on_hub.refused(on_hub.push("--pr"), "to propose anything to")


def test_a_merged_proposal_is_the_version(proposed: HubPlace, merge: Callable[..., Ran]) -> None:
    ran = merge()
    assert ran.status == 0, ran.err
    assert len(proposed.commits) == 2
    assert proposed.tags == {"v1.0.0": proposed.commits[0]}
    assert [event["event"] for event in events(proposed)] == ["proposed", "published"]
    assert events(proposed)[1]["ref"] == proposed.commits[0]
    before = proposed.commits, proposed.tags, proposed.log
    again = merge()
    assert again.status == 0, again.err
    assert proposed.push().status == 0
    assert (proposed.commits, proposed.tags, proposed.log) == before


@pytest.mark.parametrize("fault", ["500 after", "drop after", "500 before"])
@pytest.mark.parametrize("where", ["/merge", "/tag/"])
def test_trouble_while_merging_merges_nothing_twice(
    proxied: tuple[HubPlace, Proxy], merge: Callable[..., Ran], where: str, fault: str
) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()
    assert on_hub.push("--pr").status == 0
    proxy.break_once(where, fault)
    ran = merge()
    assert ran.status == 0, ran.err
    assert proxy.times == 0
    assert len(on_hub.commits) == 2
    assert on_hub.tags == {"v1.0.0": on_hub.commits[0]}


def test_a_merge_that_was_stopped_is_finished_by_the_same_command(
    proxied: tuple[HubPlace, Proxy], merge: Callable[..., Ran]
) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()
    assert on_hub.push("--pr").status == 0
    proxy.break_once("POST /api/models/" + on_hub.repo + "/tag/", "403")
    assert merge().status == 2
    assert on_hub.tags == {}
    again = merge()
    assert again.status == 0, again.err
    assert "this continues a merge that stopped at" in again.err
    assert len(on_hub.commits) == 2
    assert on_hub.tags == {"v1.0.0": on_hub.commits[0]}


def test_a_pull_request_that_got_another_commit_is_not_merged(
    proposed: HubPlace, merge: Callable[..., Ran]
) -> None:
    proposed.api.create_commit(
        proposed.repo,
        [CommitOperationAdd("backdoor.py", b"import os\n")],
        commit_message="one more",
        revision="refs/pr/1",
    )
    ran = merge()
    assert ran.status == 1
    assert "is not one commit on top of main" in ran.err
    assert (len(proposed.commits), proposed.tags) == (1, {})


def test_a_pull_request_with_other_files_is_not_merged(on_hub: HubPlace, merge: Callable[..., Ran]) -> None:
    """The log names pull request 1, and somebody else's is number 1."""
    on_hub.make_repo(private=False)
    assert on_hub.push("--pr").status == 0
    log = on_hub.place.root / "release" / "tiny" / "log.jsonl"
    on_hub.api.create_commit(
        on_hub.repo,
        [CommitOperationAdd("README.md", b"---\nlicense: mit\n---\n")],
        commit_message="another",
        create_pr=True,
    )
    log.write_text(log.read_text().replace('"pull_request": 1', '"pull_request": 2'))
    ran = merge()
    assert ran.status == 1
    assert '"manifest.json" is missing' in ran.err
    assert (len(on_hub.commits), on_hub.tags) == (1, {})


def test_a_pull_request_is_not_merged_into_a_main_that_moved(
    proposed: HubPlace, merge: Callable[..., Ran]
) -> None:
    publish_by_hand(proposed.api, proposed.repo, other__txt="theirs")
    ran = merge()
    assert ran.status == 1
    assert "is not one commit on top of main as it is now" in ran.err
    assert proposed.tags == {}


def test_a_closed_pull_request_is_not_merged(proposed: HubPlace, merge: Callable[..., Ran]) -> None:
    proposed.api.change_discussion_status(proposed.repo, 1, "closed")
    ran = merge()
    assert ran.status == 1
    assert "pull request 1 of" in ran.err
    assert "is closed" in ran.err
    assert proposed.tags == {}


def test_a_record_that_was_changed_since_is_refused(proposed: HubPlace, merge: Callable[..., Ran]) -> None:
    file = proposed.place.root / "release" / "tiny" / "1.0.0" / "manifest.json"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b'"standin": false', b'"standin": true'))
    ran = merge()
    assert ran.status == 1
    assert "is not what was proposed as tiny@1.0.0" in ran.err


def test_a_server_that_only_the_log_names_is_not_contacted(
    proposed: HubPlace, run_zoo: Callable[..., Ran]
) -> None:
    ran = run_zoo("--zoo", proposed.place.root, "merge", "tiny@1.0.0")
    assert ran.status == 2
    assert f"if you trust that server with your token, add: --to {proposed.url}" in ran.err


def test_nothing_that_was_not_proposed_is_merged(on_hub: HubPlace, merge: Callable[..., Ran]) -> None:
    ran = merge()
    assert ran.status == 2
    assert 'nothing was proposed as "tiny@1.0.0"' in ran.err
    assert "zoo release tiny --push --pr" in ran.err
