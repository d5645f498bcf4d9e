"""What the hub refuses, whoever asks: wrong bytes, wrong names, wrong tokens, too much."""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.hub.server import HubProcess
from tests.hub.wire import add, line, offer, send_commit
from zoo.hub.http import COMMIT_BODY, SMALL_BODY
from zoo.hub.lfs import REGULAR_LIMIT


def stored(hub: HubProcess) -> set[str]:
    """Every file below the directory of the hub."""
    return {str(path.relative_to(hub.folder)) for path in hub.folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("wrong", [b"other bytes", b"the bytes and more", b"the"])
def test_an_upload_of_other_bytes_leaves_nothing_behind(hub: HubProcess, repo: str, wrong: bytes) -> None:
    sha256, path = offer(hub, repo, b"the bytes 1")
    before = stored(hub)
    status, _, body = hub.ask("PUT", path, wrong)
    assert status == 400, body
    assert stored(hub) == before
    commit = send_commit(hub, repo, line("lfsFile", path="a.bin", algo="sha256", oid=sha256, size=11))
    assert commit[0] == 400
    assert b"does not exist" in commit[2]
    assert hub.ask("PUT", path, b"the bytes 1")[0] == 200
    commit = send_commit(hub, repo, line("lfsFile", path="a.bin", algo="sha256", oid=sha256, size=12))
    assert commit[0] == 400
    assert send_commit(hub, repo, line("lfsFile", path="a.bin", algo="sha256", oid=sha256, size=11))[0] == 200


def test_an_upload_that_breaks_off_leaves_nothing_behind(hub: HubProcess, repo: str) -> None:
    content = os.urandom(20_000_000)
    _, path = offer(hub, repo, content)
    before = stored(hub)
    connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=30)
    connection.putrequest("PUT", path)
    connection.putheader("Content-Length", str(len(content)))
    connection.endheaders(content[:10_000_000])
    connection.close()
    assert hub.ask("PUT", path, content)[0] == 200
    deadline = threading.Event()
    for _ in range(100):
        if len(stored(hub) - before) == 1:
            break
        deadline.wait(0.05)
    assert len(stored(hub) - before) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.replace("size=", "size=1"),
        lambda path: path.replace("expires=", "expires=1"),
        lambda path: path[:-1] + ("0" if path[-1] != "0" else "1"),
        lambda path: path.partition("?")[0],
        lambda path: path.replace("/acme/", "/alice/"),
    ],
)
def test_only_signed_addresses_take_an_upload(
    hub: HubProcess, repo: str, change: Callable[[str], str]
) -> None:
    _, path = offer(hub, repo, b"0123456789")
    assert hub.ask("PUT", change(path), b"0123456789")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "../outside",
        "/etc/passwd",
        "a/../../b",
        "a//b",
        ".git/config",
        "a/.GIT/hooks",
        "a\\b",
        "a\x00b",
        "a\nb",
        "a\u202eb",
        "",
        ".",
        "x" * 300,
        "/".join(["d" * 200] * 6),
    ],
)
def test_a_file_cannot_have_a_dangerous_path(hub: HubProcess, repo: str, path: str) -> None:
    before = stored(hub)
    assert send_commit(hub, repo, add(path, b"x"))[0] == 400
    assert send_commit(hub, repo, line("deletedFile", path=path))[0] == 400
    assert stored(hub) == before


@pytest.mark.parametrize(
    "path",
    [
        "/acme/..%2f..%2fsecret/resolve/main/x",
        "/../../etc/passwd",
        "/api/models/..%2f..%2fusers%2falice/x/revision/main",
        "/api/models/acme/%2e%2e",
        "/%00/x/resolve/main/x",
        "/api/models/acme/draft/revision/..%2f..%2fHEAD",
    ],
)
def test_no_path_of_a_request_leads_out_of_the_repositories(hub: HubProcess, path: str) -> None:
    assert hub.ask("GET", path, token=hub.token)[0] == 404


def test_no_revision_and_no_file_of_a_request_is_a_path_on_the_disk(hub: HubProcess, repo: str) -> None:
    for revision in ("..", "../HEAD", "refs/heads/../../HEAD", "HEAD", "packed-refs", "0" * 39, "\x00"):
        url = f"/api/models/{repo}/revision/{quote(revision, safe='')}"
        status, headers, _ = hub.ask("GET", url, token=hub.token)
        assert (status, headers["x-error-code"]) == (404, "RevisionNotFound")
    for path in ("..%2frepo.json", "../repo.json", "%2fetc%2fpasswd", "HEAD"):
        status, headers, _ = hub.ask("GET", f"/{repo}/resolve/main/{path}", token=hub.token)
        assert (status, headers["x-error-code"]) == (404, "EntryNotFound")


@pytest.mark.parametrize(
    "name", ["a..b", "a--b", "..", ".a", "a.git", "a b", "-a", "a/b/c", "x" * 97, "é", 7, None]
)
def test_a_repository_cannot_have_a_dangerous_name(hub: HubProcess, name: object) -> None:
    body = {"name": name, "organization": "acme"}
    assert hub.ask("POST", "/api/repos/create", body, hub.token)[0] == 400


@pytest.mark.parametrize(
    "name", ["a..b", "/a", "a/", "a//b", ".a", "a.lock", "refs/heads/x", "0" * 40, "HEAD", "a b", "a~1"]
)
def test_a_branch_or_tag_cannot_have_a_dangerous_name(hub: HubProcess, repo: str, name: str) -> None:
    tag = hub.ask("POST", f"/api/models/{repo}/tag/main", {"tag": name}, hub.token)
    branch = hub.ask("POST", f"/api/models/{repo}/branch/{quote(name, safe='')}", {}, hub.token)
    assert (tag[0], branch[0]) == (400, 400)


def test_a_tag_and_a_branch_cannot_share_a_name(hub: HubProcess, repo: str) -> None:
    assert hub.ask("POST", f"/api/models/{repo}/tag/main", {"tag": "main"}, hub.token)[0] == 409


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json\n",
        b"[1]\n",
        b'{"key": "file"}\n',
        line("file", path="a", content="MQ==", encoding="base64"),
        line("header", summary="x") + line("unknown", path="a"),
        line("header", summary="") + add("a", b"1"),
        line("header", summary="x", parentCommit="main") + add("a", b"1"),
        line("header", summary="x") + line("file", path="a", content="M", encoding="base64"),
        line("header", summary="x") + line("file", path="a", content=7, encoding="base64"),
        line("header", summary="x") + line("lfsFile", path="a", oid="../x"),
        line("header", summary="\ud800") + add("a", b"1"),
        line("header", summary="x") + add("a", b"1") + add("a/b", b"1"),
        line("header", summary="x")
        + add("a", b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 3\n"),
        b"[" * 100_000,
    ],
)
def test_a_commit_that_makes_no_sense_is_refused_as_a_whole(hub: HubProcess, repo: str, body: bytes) -> None:
    before = hub.api().repo_info(repo).sha
    status, _, answer = hub.ask("POST", f"/api/models/{repo}/commit/main", body, hub.token)
    assert status == 400, answer
    assert json.loads(answer)["error"]
    assert hub.api().repo_info(repo).sha == before


@pytest.mark.parametrize(
    ("front", "says"),
    [
        ("license: nonsense", '"license" must be one of'),
        ("language: noinfo", '"language"'),
        ("license: mit\ntags: [1, 2]", '"tags"'),
        ("model-index: 3", '"model-index" must be an array'),
        (
            "model-index:\n- name: x\n  results:\n  - task: {type: t}\n    metrics: [{type: a, value: 1}]",
            "dataset.name",
        ),
        ("a: &a [1]\nb: *a", "aliases are not allowed"),
        ("a: [", "Invalid YAML"),
        ("- a", "must be a mapping"),
    ],
)
def test_a_card_with_wrong_metadata_is_refused(hub: HubProcess, repo: str, front: str, says: str) -> None:
    content = f"---\n{front}\n---\n# card\n"
    status, _, body = hub.ask("POST", "/api/validate-yaml", {"content": content, "repoType": "model"})
    assert status == 400
    assert says in json.loads(body)["errors"][0]["message"]
    assert send_commit(hub, repo, add("README.md", content.encode()))[0] == 400


@pytest.mark.parametrize(
    "content",
    ["# no metadata", "---\nlicense: other\nlanguage: [en, zh-CN]\ndate: 2026-01-01\nx: .nan\n---\n", ""],
)
def test_a_card_with_good_metadata_or_none_is_taken(hub: HubProcess, repo: str, content: str) -> None:
    status, _, body = hub.ask("POST", "/api/validate-yaml", {"content": content, "repoType": "model"})
    assert status == 200
    assert bool(json.loads(body)["warnings"]) == ("---" not in content)
    assert send_commit(hub, repo, add("README.md", content.encode()))[0] == 200
    assert hub.ask("GET", f"/api/models/{repo}", token=hub.token)[0] == 200


def test_a_body_that_is_too_long_is_refused(hub: HubProcess, repo: str) -> None:
    assert hub.ask("POST", "/api/validate-yaml", b" " * (SMALL_BODY + 1))[0] == 413
    path = f"/api/models/{repo}/commit/main"
    assert hub.ask("POST", path, b" " * (COMMIT_BODY + 1), hub.token)[0] == 413
    assert hub.ask("POST", path, b" ")[0] == 401
    assert send_commit(hub, repo, add("a.txt", b"x" * (REGULAR_LIMIT + 1)))[0] == 400


def test_what_is_not_a_token_is_refused_everywhere(hub: HubProcess, repo: str) -> None:
    for header in ("Bearer zoo_wrong", "Bearer", "Basic YWxpY2U6eA==", f"Bearer {hub.token}x"):
        status, headers, _ = hub.ask("GET", f"/api/models/{repo}", Authorization=header)
        assert (status, headers["x-error-message"]) == (401, "Invalid credentials in Authorization header")


def test_a_route_that_is_not_there_is_a_404_with_json(hub: HubProcess, repo: str) -> None:
    """Such as the token of xet: this is a plain LFS server."""
    status, _, body = hub.ask("GET", f"/api/models/{repo}/xet-write-token/main", token=hub.token)
    assert status == 404
    assert "no such route" in json.loads(body)["error"]


def test_none_of_these_requests_ended_in_a_traceback(hub: HubProcess) -> None:
    assert "Traceback" not in hub.log()
