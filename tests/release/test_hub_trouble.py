"""Releases to a hub when something goes wrong: faults between client and hub, kills, two at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.release.hub_place import HubPlace, other_weights, publish_by_hand
from tests.release.hub_proxy import Proxy, wait_for
from zoo.errors import TargetUnusableError
from zoo.release.targets.hub_client import HubClient
from zoo.release.targets.hub_session import HubTroubleError

Proxied = tuple[HubPlace, Proxy]
# One request of each kind, by its method and a part of its path.
REQUESTS = {
    "create": "/api/repos/create",
    "preupload": "/preupload/main",
    "batch": "/objects/batch",
    "put": "PUT /",
    "verify": "/lfs/verify",
    "commit": "/commit/main",
    "tree": "/tree/",
    "resolve": "/resolve/",
    "tag": "/tag/",
    "validate": "/api/validate-yaml",
    "refs": "/refs",
}


def released(on_hub: HubPlace) -> None:
    """The hub holds one new commit and one tag at it, and the record says so."""
    assert len(on_hub.commits) == 2
    assert on_hub.tags == {"v1.0.0": on_hub.commits[0]}
    [event] = [json.loads(line) for line in on_hub.log.splitlines()]
    assert event["ref"] == on_hub.commits[0]


@pytest.mark.parametrize(
    ("request_kind", "fault"),
    [
        *((kind, "500 after") for kind in ("create", "preupload", "batch", "put", "verify", "resolve")),
        *(
            (kind, fault)
            for kind in ("commit", "tag")
            for fault in ("500 before", "500 after", "429", "drop before", "drop after")
        ),
    ],
)
def test_trouble_with_one_request_is_overcome_without_doing_anything_twice(
    proxied: Proxied, request_kind: str, fault: str
) -> None:
    on_hub, proxy = proxied
    proxy.break_once(REQUESTS[request_kind], fault)
    ran = on_hub.push()
    assert ran.status == 0, ran.err
    assert proxy.times == 0, "the request never came"
    assert "again in" in ran.err
    released(on_hub)


@pytest.mark.parametrize("request_kind", ["refs", "validate", "create", "put", "commit", "tag"])
def test_a_403_stops_at_once_and_the_same_command_finishes_later(proxied: Proxied, request_kind: str) -> None:
    on_hub, proxy = proxied
    proxy.break_once(REQUESTS[request_kind], "403")
    ran = on_hub.push()
    assert ran.status in (1, 2), ran.out
    assert "403" in ran.err
    assert "again in" not in ran.err
    if request_kind in ("create", "commit", "tag"):
        assert sum(REQUESTS[request_kind] in request for request in proxy.requests) == 1
    again = on_hub.push()
    assert again.status == 0, again.err
    assert "this continues a release that stopped at" in again.err
    released(on_hub)


def test_a_signed_release_that_was_stopped_is_not_committed_again(proxied: Proxied, tmp_path: Path) -> None:
    """Every signature of the same bytes is another one; what is recorded is the one on the hub."""
    pytest.importorskip("model_signing")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    on_hub, proxy = proxied
    key = tmp_path / "key.pem"
    key.write_bytes(
        ec.generate_private_key(ec.SECP256R1()).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    proxy.break_once(REQUESTS["tag"], "403")
    assert on_hub.push("--sign-key", str(key)).status == 2
    ran = on_hub.push("--sign-key", str(key))
    assert ran.status == 0, ran.err
    released(on_hub)
    there = on_hub.api.hf_hub_download(on_hub.repo, "model.sig", revision="v1.0.0")
    recorded = on_hub.place.root / "release" / "tiny" / "1.0.0" / "model.sig"
    assert recorded.read_bytes() == Path(there).read_bytes()


def test_a_412_to_the_commit_is_a_branch_that_moved(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    proxy.break_once(REQUESTS["commit"], "412")
    ran = on_hub.push()
    on_hub.refused(ran, "moved while this release ran (412)", "nothing was overwritten", status=1)
    assert on_hub.push().status == 0
    released(on_hub)


def test_trouble_that_stays_ends_within_the_time_limit(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    proxy.break_once(REQUESTS["commit"], "500 before", times=1000)
    ran = on_hub.push("--timeout", "3")
    on_hub.refused(ran, "the hub answered 500", "it goes on from there")
    proxy.times = 0
    assert on_hub.push().status == 0
    released(on_hub)


def test_a_wait_that_is_longer_than_the_limit_is_not_waited(on_hub: HubPlace) -> None:
    with _answering(429, {"RateLimit": '"api";r=0;t=3600', "Content-Length": "0"}) as url:
        client = HubClient(url, on_hub.repo, 5, lambda text: None)
        with pytest.raises(
            HubTroubleError, match=r"limits the rate of requests \(429\) and asks to wait 3600 s"
        ):
            client.tags()


def test_an_answer_that_never_comes_is_given_up(on_hub: HubPlace) -> None:
    class Silent(HTTPServer):
        def finish_request(self, request: object, client_address: object) -> None:
            gone.wait(30)

    gone, server = threading.Event(), Silent(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        client = HubClient(f"http://127.0.0.1:{server.server_port}", on_hub.repo, 1, lambda text: None)
        with pytest.raises(HubTroubleError, match="did not answer in time"):
            client.tags()
    finally:
        gone.set()
        server.shutdown()
        server.server_close()


def test_main_that_moves_between_plan_and_commit_is_never_overwritten(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()

    def somebody_commits(request: str) -> None:
        if "/preupload/" in request and len(on_hub.commits) == 1:
            publish_by_hand(on_hub.api, on_hub.repo, other__txt="theirs")

    proxy.before = somebody_commits
    ran = on_hub.push()
    on_hub.refused(ran, "moved while this release ran", "builds on what is there now", status=1)
    assert "other.txt" in on_hub.files
    again = on_hub.push()
    assert again.status == 0, again.err
    assert "other.txt" not in on_hub.files
    assert len(on_hub.commits) == 3
    assert on_hub.tags == {"v1.0.0": on_hub.commits[0]}


def test_a_commit_with_a_lost_answer_is_found_below_later_ones(proxied: Proxied) -> None:
    on_hub, proxy = proxied

    def somebody_commits(request: str) -> None:
        if "/commit/main" in request and len(on_hub.commits) == 2:
            publish_by_hand(on_hub.api, on_hub.repo, other__txt="theirs")

    proxy.after = somebody_commits
    proxy.break_once(REQUESTS["commit"], "drop after")
    assert on_hub.push().status == 0
    assert on_hub.tags == {"v1.0.0": on_hub.commits[1]}
    assert len(on_hub.commits) == 3


def test_of_two_releases_at_once_one_wins_and_the_other_says_so(proxied: Proxied, tmp_path: Path) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()
    other: list[subprocess.CompletedProcess[str]] = []

    def the_other_runs(request: str) -> None:
        if "/commit/main" in request and not other:
            other.append(_zoo(on_hub, on_hub.hub.url, tmp_path))

    proxy.before = the_other_runs
    ran = on_hub.push()
    assert other[0].returncode == 0, other[0].stderr
    assert ran.status == 1
    assert "somebody else committed" in ran.err
    assert len(on_hub.commits) == 2
    assert on_hub.tags == {"v1.0.0": on_hub.commits[0]}
    assert on_hub.push().status == 0
    assert len(on_hub.commits) == 2


def test_a_release_of_other_bytes_that_has_no_tag_yet_is_not_built_upon(proxied: Proxied) -> None:
    """The other run is between its commit and its tag, as one that was stopped there stays for ever."""
    on_hub, proxy = proxied
    proxy.break_once("POST /api/models/" + on_hub.repo + "/tag/", "403")
    assert on_hub.push().status == 2
    before, good = on_hub.commits, (on_hub.place.checkpoint / "model.safetensors").read_bytes()
    other_weights(on_hub)
    sent = len(proxy.requests)
    for args in ([], ["--pr"]):
        ran = on_hub.push(*args)
        on_hub.refused(ran, "holds another checkpoint as tiny 1.0.0, without its tag", status=1)
    assert on_hub.commits == before
    assert not [each for each in proxy.requests[sent:] if each.startswith("PUT") or "/preupload/" in each]
    (on_hub.place.checkpoint / "model.safetensors").write_bytes(good)
    assert on_hub.push().status == 0
    released(on_hub)


def test_a_tag_that_appears_before_the_commit_stops_it(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()

    def somebody_tags(request: str) -> None:
        if "/preupload/" in request and not on_hub.tags:
            on_hub.api.create_tag(on_hub.repo, tag="v1.0.0")

    proxy.before = somebody_tags
    ran = on_hub.push()
    assert ran.status == 1
    assert "was published by somebody else while this release ran" in ran.err
    assert len(on_hub.commits) == 1


def test_a_branch_with_the_name_of_the_tag_stops_before_anything_is_written(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()
    on_hub.api.create_branch(on_hub.repo, branch="v1.0.0")
    on_hub.refused(on_hub.push(), f"v1.0.0 of {on_hub.repo} is a branch", status=1)
    assert len(on_hub.commits) == 1
    assert all(each.startswith("GET") for each in proxy.requests)


def test_what_the_hub_says_of_a_file_that_it_does_not_take_is_shown(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    full = {"objects": [{"oid": "0" * 64, "size": 1, "error": {"code": 507, "message": "the disk is full"}}]}
    proxy.instead = ("/objects/batch", json.dumps(full).encode())
    ran = on_hub.push()
    on_hub.refused(ran, "has no space left (507): the disk is full", "make space there")
    proxy.instead = ("", b"")
    assert on_hub.push().status == 0
    released(on_hub)


def test_a_hub_that_is_started_again_while_the_weights_are_read_back_is_waited_for(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    # More often than one who opens a checkpoint tries.
    proxy.break_once("/model.safetensors", "drop before", times=8)
    ran = on_hub.push()
    assert ran.status == 0, ran.err
    assert proxy.times == 0
    released(on_hub)


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_an_answer_without_an_end_is_given_up(on_hub: HubPlace, size: int) -> None:
    """Byte by byte within every time limit for one read, or as fast as it goes."""
    gone = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(200)
            self.end_headers()
            with suppress(ConnectionError):
                while not gone.wait(0.05 if size == 1 else 0):
                    self.wfile.write(b" " * size)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    said = "did not end within" if size == 1 else "has more than|did not end within"
    try:
        client = HubClient(f"http://127.0.0.1:{server.server_port}", on_hub.repo, 2, lambda text: None)
        with pytest.raises(TargetUnusableError, match=said):
            client.tags()
        with pytest.raises(TargetUnusableError, match=said):
            client.read("0" * 40, "config.json", 1000 if size > 1 else 1 << 20)
    finally:
        gone.set()
        server.shutdown()
        server.server_close()


def test_an_answer_that_is_nested_too_deeply_is_not_that_of_a_hub(on_hub: HubPlace) -> None:
    body = b"[" * 200_000
    with _answering(200, {"Content-Length": str(len(body))}, body) as url:
        client = HubClient(url, on_hub.repo, 5, lambda text: None)
        with pytest.raises(TargetUnusableError, match="is not that of a hub"):
            client.tags()


def test_a_tag_that_somebody_else_set_meanwhile_is_not_moved(proxied: Proxied) -> None:
    on_hub, proxy = proxied
    on_hub.make_repo()
    first = on_hub.commits[0]

    def somebody_tags(request: str) -> None:
        if "POST" in request and "/tag/" in request and not on_hub.tags:
            on_hub.api.create_tag(on_hub.repo, tag="v1.0.0", revision=first)

    proxy.before = somebody_tags
    ran = on_hub.push()
    assert ran.status == 1
    assert "was published by somebody else while this release ran" in ran.err
    assert on_hub.tags == {"v1.0.0": first}


@pytest.mark.parametrize(
    ("request_kind", "when"),
    [("create", "after"), ("put", "before"), ("commit", "before"), ("commit", "after"), ("tag", "after")],
)
def test_a_killed_release_is_finished_by_the_same_command(
    proxied: Proxied, tmp_path: Path, request_kind: str, when: str
) -> None:
    """SIGKILL while the request is out: before it reached the hub, or after the hub did it."""
    on_hub, proxy = proxied
    process: list[subprocess.Popen[bytes]] = []

    def kill(request: str) -> None:
        if REQUESTS[request_kind] in request and process and process[0].returncode is None:
            if when == "before":  # else the proxy would pass it on, perhaps while the next run looks
                proxy.break_once(request, "drop before")
            os.kill(process[0].pid, signal.SIGKILL)
            process[0].wait(30)

    setattr(proxy, when, kill)
    process.append(
        subprocess.Popen(
            _argv(on_hub, proxy.url),
            env=_env(on_hub, tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    )
    wait_for(lambda: process[0].poll() is not None, 60)
    assert process[0].returncode == -signal.SIGKILL
    ran = on_hub.push()
    assert ran.status == 0, ran.err
    step = {"create": "upload", "put": "upload"}.get(request_kind, request_kind)
    assert f'this continues a release that was cut off in "{step}"' in ran.err
    released(on_hub)
    assert on_hub.hub.token not in (on_hub.place.root / ".zoo/journal/tiny-1.0.0.jsonl").read_text()


def test_the_token_goes_to_the_endpoint_alone(on_hub: HubPlace) -> None:
    seen: list[tuple[str, str | None]] = []
    with (
        _answering(200, {"Content-Length": "2"}, b"[]", seen) as elsewhere,
        _answering(307, {"Location": f"{elsewhere}/stolen", "Content-Length": "0"}, b"", seen) as redirecting,
        _answering(
            200, {"Link": f'<{elsewhere}/next>; rel="next"', "Content-Length": "2"}, b"[]", seen
        ) as paging,
    ):
        for url in (redirecting, paging):
            client = HubClient(url, on_hub.repo, 5, lambda text: None)
            assert client.check_token() == on_hub.hub.token
            client.tree("0" * 40)
    bearer = f"Bearer {on_hub.hub.token}"
    assert [path for path, token in seen if token == bearer] == [path for path, _ in seen if "/api/" in path]
    assert [token for path, token in seen if path in ("/stolen", "/next")] == [None, None]


class _answering:  # noqa: N801
    """A server that gives every request one answer; its address. ``seen`` gets paths and Authorization."""

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        body: bytes = b"",
        seen: list[tuple[str, str | None]] | None = None,
    ) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if seen is not None:
                    seen.append((self.path.partition("?")[0], self.headers.get("Authorization")))
                self.send_response_only(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _argv(on_hub: HubPlace, url: str) -> list[str]:
    root = str(on_hub.place.root)
    return [sys.executable, "-m", "zoo", "--zoo", root, "release", "tiny", "--push", "--to", url]


def _env(on_hub: HubPlace, tmp_path: Path) -> dict[str, str]:
    env = on_hub.hub.env() | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    del env["HF_ENDPOINT"]
    return env


def _zoo(on_hub: HubPlace, url: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _argv(on_hub, url), env=_env(on_hub, tmp_path), capture_output=True, text=True, timeout=120
    )
