"""Probes of repositories, commits, files, tags and branches: in this order, on one repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from huggingface_hub import CommitOperationCopy, CommitOperationDelete, HfApi
from huggingface_hub.errors import (
    EntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import get_session
from probe_kit import (
    CARD,
    ENDPOINT,
    OWNER,
    REPO,
    SHA256,
    TENSORS,
    add,
    api,
    commit,
    git_sha1,
    head,
    nobody,
    reader,
    refused,
    seen,
    stranger,
)


def probe_whoami() -> None:
    assert api.whoami()["name"] == "alice"
    assert [org["name"] for org in api.whoami()["orgs"]] == ["acme"]


def probe_a_wrong_token_is_told_from_a_missing_repository() -> None:
    wrong = HfApi(token="zoo_wrong")
    error = refused(lambda: wrong.repo_info(REPO), 401)
    assert not isinstance(error, RepositoryNotFoundError)


def probe_create_a_private_repository() -> None:
    url = api.create_repo(REPO, private=True)
    assert url.repo_id == REPO, url


def probe_create_it_again() -> None:
    refused(lambda: api.create_repo(REPO), 409)
    assert api.create_repo(REPO, exist_ok=True).repo_id == REPO


def probe_create_for_others() -> None:
    refused(lambda: stranger.create_repo(f"{OWNER}/other"), 403)
    refused(lambda: reader.create_repo(f"{OWNER}/other"), 403)
    refused(lambda: nobody.create_repo(f"{OWNER}/other"), 401)


def probe_private_for_members_only() -> None:
    assert reader.repo_info(REPO).private is True
    refused(lambda: stranger.repo_info(REPO), 404, RepositoryNotFoundError)
    refused(lambda: nobody.repo_info(REPO), 401, RepositoryNotFoundError)
    refused(lambda: stranger.create_tag(REPO, tag="x"), 404, RepositoryNotFoundError)
    refused(lambda: stranger.hf_hub_download(REPO, ".gitattributes"), 404, RepositoryNotFoundError)


def probe_auth_check() -> None:
    api.auth_check(REPO, write=True)
    reader.auth_check(REPO)
    refused(lambda: reader.auth_check(REPO, write=True), 403)
    refused(lambda: nobody.auth_check(REPO), 401, RepositoryNotFoundError)


def probe_bad_metadata_is_refused_before_the_upload() -> None:
    before, message = head(), ""
    try:
        commit(add("README.md", b"---\nlicense: nonsense\n---\n"), add("m.safetensors", TENSORS))
    except ValueError as error:
        message = str(error)
    assert "Invalid metadata in README.md" in message
    assert '"license" must be one of' in message
    assert head() == before


def probe_commit_with_preupload() -> None:
    weights = add("model.safetensors", TENSORS)
    api.preupload_lfs_files(REPO, [weights])
    assert [file.rfilename for file in api.repo_info(REPO).siblings or ()] == [".gitattributes"]
    seen["base"] = head()
    info = commit(
        weights,
        add("README.md", CARD),
        add("config.json", b"{}"),
        add("docs/a b.txt", b"text"),
        message="Release 1.0.0",
        commit_description="two\n\nparagraphs",
        parent_commit=seen["base"],
    )
    assert info.commit_url == f"{ENDPOINT}/{REPO}/commit/{info.oid}"
    assert head() == info.oid
    seen["first"] = info.oid


def probe_the_same_again_is_no_commit() -> None:
    again = commit(
        add("README.md", CARD), add("model.safetensors", TENSORS), parent_commit=seen["base"], message="again"
    )
    assert again.oid == seen["first"] == head()


def probe_a_stale_parent_is_412() -> None:
    refused(lambda: commit(add("config.json", b"{1}"), parent_commit=seen["base"]), 412)
    assert head() == seen["first"]


def probe_tree_with_sha256_and_git_ids() -> None:
    entries = {
        entry.path: entry for entry in api.list_repo_tree(REPO, recursive=True, revision=seen["first"])
    }
    assert set(entries) == {
        ".gitattributes",
        "README.md",
        "config.json",
        "docs",
        "docs/a b.txt",
        "model.safetensors",
    }
    weights = entries["model.safetensors"]
    pointer = (
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{SHA256}\nsize {len(TENSORS)}\n".encode()
    )
    assert (weights.lfs.sha256, weights.size) == (SHA256, len(TENSORS))
    assert (weights.blob_id, weights.lfs.pointer_size) == (git_sha1(pointer), len(pointer))
    assert entries["README.md"].blob_id == git_sha1(CARD)
    assert entries["README.md"].lfs is None
    below = [entry.path for entry in api.list_repo_tree(REPO, "docs", expand=True)]
    assert below == ["docs/a b.txt"]
    refused(lambda: list(api.list_repo_tree(REPO, "none")), 404, EntryNotFoundError)


def probe_paths_info() -> None:
    found = api.get_paths_info(REPO, ["model.safetensors", "docs", "absent"], expand=True)
    assert [entry.path for entry in found] == ["model.safetensors", "docs"]
    assert found[0].last_commit.oid == seen["first"]


def probe_repo_info_with_card_and_blobs() -> None:
    info = api.repo_info(REPO, files_metadata=True)
    sizes = {file.rfilename: file.size for file in info.siblings or ()}
    assert sizes["model.safetensors"] == len(TENSORS)
    assert {file.lfs.sha256 for file in info.siblings or () if file.lfs} == {SHA256}
    assert info.card_data is not None
    assert info.card_data.license == "apache-2.0"
    assert "draft-model" in (info.tags or [])
    assert api.model_info(REPO, expand=["sha"]).sha == head()


def probe_download_and_verify() -> None:
    path = api.hf_hub_download(REPO, "model.safetensors", revision=seen["first"])
    assert Path(path).read_bytes() == TENSORS
    folder = api.snapshot_download(REPO, revision="main")
    assert (Path(folder) / "docs/a b.txt").read_bytes() == b"text"
    checked = api.verify_repo_checksums(REPO, local_dir=folder, revision=seen["first"])
    assert not checked.mismatches
    assert not checked.missing_paths
    assert not checked.extra_paths
    assert checked.checked_count == 5
    refused(lambda: api.hf_hub_download(REPO, "absent"), 404, EntryNotFoundError)
    refused(lambda: api.hf_hub_download(REPO, "README.md", revision="absent"), 404, RevisionNotFoundError)


def probe_ranges() -> None:
    url = f"{ENDPOINT}/{REPO}/resolve/{seen['first']}/model.safetensors"
    headers = {"Authorization": f"Bearer {os.environ['HF_TOKEN']}"}

    def get(wanted: str) -> Any:
        return get_session().get(url, headers={**headers, "Range": wanted})

    part = get("bytes=8-107")
    assert (part.status_code, part.content) == (206, TENSORS[8:108])
    assert part.headers["content-range"] == f"bytes 8-107/{len(TENSORS)}"
    assert part.headers["x-repo-commit"] == seen["first"]
    assert part.headers["x-linked-etag"] == f'"{SHA256}"'
    assert get("bytes=-5").content == TENSORS[-5:]
    assert get(f"bytes={len(TENSORS) - 3}-").content == TENSORS[-3:]
    assert get(f"bytes={len(TENSORS)}-").status_code == 416


def probe_safetensors_header_by_range() -> None:
    metadata = api.get_safetensors_metadata(REPO, revision=seen["first"])
    assert list(metadata.files_metadata["model.safetensors"].tensors) == ["w"]


def probe_tag_once_with_a_message() -> None:
    api.create_tag(REPO, tag="v1.0.0", revision=seen["first"], tag_message="manifest sha256:abc")
    refused(lambda: api.create_tag(REPO, tag="v1.0.0", revision=seen["base"]), 409)
    api.create_tag(REPO, tag="v1.0.0", revision=seen["base"], exist_ok=True)
    tags = {tag.name: tag for tag in api.list_repo_refs(REPO).tags}
    assert tags["v1.0.0"].target_commit == seen["first"]
    assert tags["v1.0.0"].ref == "refs/tags/v1.0.0"
    assert head("v1.0.0") == seen["first"]
    raw = get_session().get(
        f"{ENDPOINT}/api/models/{REPO}/refs", headers={"Authorization": f"Bearer {os.environ['HF_TOKEN']}"}
    )
    assert raw.json()["tags"][0]["message"] == "manifest sha256:abc"


def probe_tag_of_nothing() -> None:
    refused(lambda: api.create_tag(REPO, tag="v9", revision="absent"), 404, RevisionNotFoundError)
    refused(lambda: api.create_tag(REPO, tag="v9", revision="0" * 40), 404, RevisionNotFoundError)
    refused(lambda: api.delete_tag(REPO, tag="absent"), 404, RevisionNotFoundError)
    refused(lambda: reader.create_tag(REPO, tag="v9"), 403)


def probe_branches() -> None:
    api.create_branch(REPO, branch="next/one", revision="v1.0.0")
    refused(lambda: api.create_branch(REPO, branch="next/one"), 409)
    refused(lambda: api.create_branch(REPO, branch="next"), 409)
    commit(add("new.txt", b"1"), revision="next/one")
    assert head("next/one") != head("main")
    api.delete_branch(REPO, branch="next/one")
    refused(lambda: api.delete_branch(REPO, branch="main"), 403)
    refused(lambda: api.repo_info(REPO, revision="next/one"), 404, RevisionNotFoundError)


def probe_delete_and_copy() -> None:
    commit(CommitOperationCopy("model.safetensors", "copy.safetensors"), add("x/1", b"1"), add("x/2", b"2"))
    commit(CommitOperationDelete("x/", is_folder=True), CommitOperationDelete("copy.safetensors"))
    assert "copy.safetensors" not in api.list_repo_files(REPO)
    assert not [path for path in api.list_repo_files(REPO) if path.startswith("x/")]
    refused(lambda: commit(CommitOperationDelete("absent")), 404, EntryNotFoundError)


def probe_history() -> None:
    commits = api.list_repo_commits(REPO)
    assert [commit.title for commit in commits[-2:]] == ["Release 1.0.0", "initial commit"]
    assert commits[-2].message == "two\n\nparagraphs"
    assert commits[-2].authors == ["alice"]
    assert commits[0].commit_id == head()
