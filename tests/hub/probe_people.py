"""Probes of pull requests, discussions, rights and settings, after those of probe_files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from huggingface_hub.errors import (
    GatedRepoError,
    RepositoryNotFoundError,
)
from probe_kit import (
    ENDPOINT,
    OWNER,
    REPO,
    add,
    api,
    commit,
    head,
    nobody,
    pull,
    reader,
    refused,
    seen,
    stranger,
)


def probe_pull_request_by_commit() -> None:
    base = head()
    info = commit(add("config.json", b'{"pr": 1}'), create_pr=True, message="Propose a change")
    assert info.pr_url == f"{ENDPOINT}/{REPO}/discussions/{info.pr_num}"
    assert info.pr_revision == pull(info.pr_num)
    assert head() == base
    assert head(pull(info.pr_num)) == info.oid
    commit(add("more.txt", b"more"), revision=pull(info.pr_num), parent_commit=info.oid, message="And more")
    refused(lambda: commit(add("x", b"x"), revision=pull(info.pr_num), parent_commit=info.oid), 412)
    api.comment_discussion(REPO, info.pr_num, "checked: all well")
    pulls = {
        ref.name: ref.ref for ref in api.list_repo_refs(REPO, include_pull_requests=True).pull_requests or ()
    }
    assert pull(info.pr_num) in pulls.values()
    details = api.get_discussion_details(REPO, info.pr_num)
    assert (details.status, details.target_branch, details.conflicting_files) == (
        "open",
        "refs/heads/main",
        [],
    )
    assert [event.type for event in details.events].count("commit") == 2
    assert details.diff is not None
    assert '+{"pr": 1}' in details.diff
    api.merge_pull_request(REPO, info.pr_num, comment="thank you")
    merged = api.get_discussion_details(REPO, info.pr_num)
    assert (merged.status, merged.merge_commit_oid) == ("merged", head())
    assert {"more.txt", "config.json"} <= set(api.list_repo_files(REPO))
    assert api.list_repo_commits(REPO)[1].commit_id == base
    refused(lambda: api.merge_pull_request(REPO, info.pr_num), 400)
    refused(lambda: commit(add("x", b"x"), revision=pull(info.pr_num)), 403)


def probe_pull_request_as_a_draft() -> None:
    request = api.create_pull_request(REPO, "A draft request")
    assert request.status == "draft"
    refused(lambda: api.merge_pull_request(REPO, request.num), 400)
    commit(add("draft.txt", b"1"), revision=request.git_reference)
    api.change_discussion_status(REPO, request.num, "open")
    api.rename_discussion(REPO, request.num, "Another title")
    api.merge_pull_request(REPO, request.num)
    assert "draft.txt" in api.list_repo_files(REPO)


def probe_conflicts_are_not_merged() -> None:
    info = commit(add("config.json", b"theirs"), create_pr=True)
    commit(add("config.json", b"ours"))
    before = head()
    assert api.get_discussion_details(REPO, info.pr_num).conflicting_files == ["config.json"]
    refused(lambda: api.merge_pull_request(REPO, info.pr_num), 409)
    assert head() == before
    api.change_discussion_status(REPO, info.pr_num, "closed")
    listed = list(api.get_repo_discussions(REPO, discussion_status="closed"))
    assert info.pr_num in [discussion.num for discussion in listed]


def probe_discussions() -> None:
    discussion = reader.get_discussion_details(REPO, api.create_discussion(REPO, "A question").num)
    assert (discussion.is_pull_request, discussion.status) == (False, "open")
    refused(lambda: reader.create_discussion(REPO, "No rights"), 403)


def probe_settings_gate_and_publish() -> None:
    api.update_repo_settings(REPO, private=False, gated="manual")
    info = stranger.repo_info(REPO)
    assert (info.private, info.gated) == (False, "manual")
    # Never downloaded before: of a file in its cache the client says nothing.
    refused(lambda: stranger.hf_hub_download(REPO, "draft.txt"), 403, GatedRepoError)
    refused(lambda: nobody.hf_hub_download(REPO, "draft.txt"), 401, GatedRepoError)
    refused(lambda: stranger.auth_check(REPO), 403, GatedRepoError)
    api.update_repo_settings(REPO, gated=False)
    nobody.hf_hub_download(REPO, "draft.txt")
    refused(lambda: stranger.update_repo_settings(REPO, private=True), 403)


def probe_a_stranger_proposes_and_does_not_commit() -> None:
    refused(lambda: commit(add("s.txt", b"s"), who=stranger), 403)
    info = commit(add("s.safetensors", b"s" * 100), who=stranger, create_pr=True, message="From outside")
    commit(add("s2.txt", b"s"), who=stranger, revision=pull(info.pr_num))
    refused(lambda: stranger.merge_pull_request(REPO, info.pr_num), 403)
    refused(lambda: stranger.create_tag(REPO, tag="mine"), 403)
    stranger.change_discussion_status(REPO, info.pr_num, "closed")


def probe_history_is_immutable() -> None:
    error = refused(lambda: api.super_squash_history(REPO), 403)
    assert "immutable" in str(error)


def probe_list_models() -> None:
    assert REPO in [model.id for model in nobody.list_models(author=OWNER)]
    assert [model.id for model in nobody.list_models(search=REPO.split("/")[1], limit=5)] == [REPO]
    assert not list(nobody.list_models(author="bob"))


def probe_upload_folder_and_many_pages() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number in range(60):
            (Path(folder) / f"{number:02}.txt").write_text(str(number))
        api.upload_folder(repo_id=REPO, folder_path=folder, path_in_repo="many", commit_message="Many files")
    assert len(list(api.list_repo_tree(REPO, "many", expand=True))) == 60
    api.delete_folder("many", REPO)


def probe_resolve_revision() -> None:
    assert api.resolve_revision(REPO, revision="v1.0.0").resolved == seen["first"]


def probe_delete_the_repository() -> None:
    refused(lambda: stranger.delete_repo(REPO), 403)
    api.delete_repo(REPO)
    refused(lambda: api.repo_info(REPO), 404, RepositoryNotFoundError)
    refused(lambda: api.delete_repo(REPO), 404, RepositoryNotFoundError)
    api.delete_repo(REPO, missing_ok=True)
