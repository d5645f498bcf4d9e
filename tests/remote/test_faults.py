"""Everything that can go wrong on the way: the right result or exit 2 with the cause, within the time
limit."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from tests.corpus.kit import WEIGHTS
from tests.remote.hub import COMMIT, REPO, Hub, Reply, Seen, Server, ranged
from zoo.errors import UnreadableError
from zoo.remote.address import Remote
from zoo.remote.source import opened
from zoo.sources import Sources
from zoo.verify import verify_source

SOURCE = f"hf://{REPO}@v1.0.0"
TIMEOUT = 1.0
Fault = Callable[[Seen, Reply], Reply | None]


def refused(source: str, endpoint: str = "", timeout: float = TIMEOUT) -> str:
    """The one line and the next action with which the source is refused, in time."""
    began = time.monotonic()
    with pytest.raises(UnreadableError) as raised, Sources(Remote(endpoint, timeout)) as sources:
        verify_source(source, sources=sources)
    assert time.monotonic() - began < timeout + 2
    assert raised.value.exit_status == 2
    assert raised.value.hint
    assert "\n" not in raised.value.message
    return f"{raised.value.message} -> {raised.value.hint}"


def works(hub: Server) -> None:
    with Sources(Remote(hub.url, TIMEOUT)) as sources:
        assert verify_source(SOURCE, sources=sources).report.exit_status == 0


def on(name: str, reply: Callable[[Seen], Reply], times: int = 10**9) -> Callable[[Seen], Reply | None]:
    """A fault of the first ``times`` requests for the file ``name``."""
    left = [times]

    def fault(seen: Seen) -> Reply | None:
        if seen.name != name or not left[0]:
            return None
        left[0] -= 1
        return reply(seen)

    return fault


def changed(draft: Path, change: Callable[[Reply], Reply]) -> Callable[[Seen], Reply]:
    """The right answer about the weights, after ``change``."""
    return lambda seen: change(ranged(seen, draft / WEIGHTS))


HUB_ANSWERS = {
    "hidden": (
        Reply(401, {"X-Error-Code": "RepoNotFound"}),
        "the hub shows no such repository to this token (401): it is private or gated, or there is none",
        "use a token of an account that may read it",
    ),
    "wrong token": (Reply(401), "the hub does not accept the token (401)", "hf auth login"),
    "gated": (Reply(403, {"X-Error-Code": "GatedRepo"}), "the repository is gated", "ask for access on http"),
    "forbidden": (Reply(403), "refuses access (403)", "use a token of an account"),
    "no repository": (
        Reply(404, {"X-Error-Code": "RepoNotFound"}),
        "the hub shows no such repository to this token (404): it is private or gated, or there is none",
        "check the spelling of http",
    ),
    "no revision": (
        Reply(404, {"X-Error-Code": "RevisionNotFound"}),
        "no such revision",
        "branches and tags",
    ),
    "no entry": (Reply(404, {"X-Error-Code": "EntryNotFound"}), "there is no such file", "check the address"),
    "gone": (Reply(410), "there is no such file (410)", "check"),
    "teapot": (Reply(418), "the server answered 418", "check the address"),
    "broken": (Reply(500), "the server answered 500", "try again later"),
    "busy": (Reply(503, {"Retry-After": "3600"}), "the server answered 503", "try again later"),
    "too many": (Reply(429, {"Retry-After": "120"}), "asks to wait 120 seconds", "try again in 120 seconds"),
    "too many, by RateLimit": (Reply(429, {"RateLimit": '"api";r=0;t=55'}), "to wait 55 seconds", "a token"),
    "too many, by date": (
        Reply(429, {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}),
        "asks to wait",
        "try",
    ),
    "too many, no word": (
        Reply(429, {"Retry-After": "soon"}),
        "limits the rate of requests (429)",
        "some minutes",
    ),
    "not modified": (Reply(304), "the server answered 304", "check"),
    "no content": (Reply(204, {"Content-Length": ""}), "the server answered 204", "check"),
}


@pytest.mark.parametrize("name", HUB_ANSWERS)
@pytest.mark.parametrize("what", ["v1.0.0", WEIGHTS, "config.json"])
def test_an_error_of_the_hub_is_explained(name: str, what: str, hub: Server) -> None:
    reply, cause, action = HUB_ANSWERS[name]
    hub.fault = on(what, lambda seen: reply)
    told = refused(SOURCE, hub.url, timeout=0.8)
    assert cause in told
    assert action in told
    assert told.startswith(f'"{SOURCE}": ')


ANONYMOUS = {
    "hidden": (
        Reply(401, {"X-Error-Code": "RepoNotFound"}),
        "without a token (401): it is private or gated, or there is none",
    ),
    "hidden, by another hub": (Reply(401), "without a token (401): it is private or gated"),
    "nowhere": (
        Reply(404, {"X-Error-Code": "RepoNotFound"}),
        "without a token (404): it is private or gated",
    ),
    "gated": (Reply(401, {"X-Error-Code": "GatedRepo"}), "the repository is gated (401)"),
}


@pytest.mark.parametrize("name", ANONYMOUS)
def test_who_has_no_token_is_told_how_to_log_in(
    name: str, hub: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", os.devnull)
    monkeypatch.delenv("HF_TOKEN")
    reply, cause = ANONYMOUS[name]
    hub.fault = lambda seen: reply
    told = refused(SOURCE, hub.url, timeout=0.8)
    assert all("authorization" not in seen.headers for seen in hub.seen)
    assert cause in told
    assert "hf auth login, or set HF_TOKEN" in told
    assert ("the spelling of" in told) == (name != "gated")


def test_a_waiting_time_within_the_limit_is_kept(hub: Server) -> None:
    hub.fault = on("v1.0.0", lambda seen: Reply(429, {"Retry-After": "1"}), times=1)
    began = time.monotonic()
    with Sources(Remote(hub.url, 3.0)) as sources:
        assert verify_source(SOURCE, sources=sources).report.exit_status == 0
    assert time.monotonic() - began >= 1
    assert len(hub.asked_for("v1.0.0")) == 2


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
@pytest.mark.parametrize("what", ["v1.0.0", "config.json", WEIGHTS])
def test_a_passing_error_is_tried_again(status: int, what: str, hub: Server) -> None:
    hub.fault = on(what, lambda seen: Reply(status), times=2)
    works(hub)


def test_a_passing_error_of_the_storage_host_is_tried_again(hub: Server, storage: Server) -> None:
    storage.fault = on(WEIGHTS, lambda seen: Reply(503), times=2)
    works(hub)


def test_a_refusal_of_the_storage_host_is_explained(hub: Server, storage: Server) -> None:
    storage.fault = on(WEIGHTS, lambda seen: Reply(403, {}, b"<Error>AccessDenied secret-signature</Error>"))
    told = refused(SOURCE, hub.url)
    assert "refuses access (403)" in told
    assert "secret-signature" not in told


def test_a_connection_that_breaks_is_taken_up_where_it_broke(
    hub: Server, storage: Server, draft: Path
) -> None:
    storage.fault = on(WEIGHTS, changed(draft, lambda reply: replace(reply, cut=40_000)), times=2)
    works(hub)
    assert [seen.range for seen in storage.seen] == [(0, 99_999), (40_000, 99_999), (80_000, 99_999)]
    assert all("if-range" in seen.headers for seen in storage.seen[1:])


def test_a_connection_that_always_breaks_is_given_up(hub: Server, storage: Server, draft: Path) -> None:
    storage.fault = on(WEIGHTS, changed(draft, lambda reply: replace(reply, cut=0)))
    assert "the connection broke" in refused(SOURCE, hub.url)
    assert len(storage.seen) <= 6


def test_a_listing_that_is_cut_off_is_given_up(hub: Server) -> None:
    hub.fault = on("v1.0.0", lambda seen: Reply(200, {}, b'{"sha": "' + b"0" * 500, cut=100))
    assert "the connection broke" in refused(SOURCE, hub.url)


@pytest.mark.parametrize("what", ["v1.0.0", "config.json", WEIGHTS])
def test_a_server_that_does_not_answer_is_given_up(what: str, hub: Server) -> None:
    hub.fault = on(what, lambda seen: Reply(wait=3.0))
    assert "did not answer within" in refused(SOURCE, hub.url, 0.5)


def test_a_server_that_stops_in_the_middle_is_given_up(hub: Server, storage: Server, draft: Path) -> None:
    storage.fault = on(WEIGHTS, changed(draft, lambda reply: replace(reply, stall=3.0)))
    assert "stopped sending" in refused(SOURCE, hub.url, 0.5)


def test_a_server_that_stops_once_is_asked_again(hub: Server, storage: Server, draft: Path) -> None:
    storage.fault = on(WEIGHTS, changed(draft, lambda reply: replace(reply, pause=3.0)), times=1)
    works(hub)


@pytest.mark.parametrize("what", ["v1.0.0", WEIGHTS])
def test_an_answer_that_drips_cannot_outlast_the_limit(what: str, hub: Server) -> None:
    """Byte by byte, no wait is ever long; only the whole is."""
    hub.fault = on(what, lambda seen: Reply(drip=0.02))
    assert "not done within 0.5 seconds" in refused(SOURCE, hub.url, 0.5)


def test_a_body_that_drips_cannot_outlast_the_limit(hub: Server, storage: Server, draft: Path) -> None:
    body = (draft / WEIGHTS).read_bytes()[:100_000]
    slow = [Reply(206, {}, body)]

    class Dripping(Reply):
        def chunks(self) -> Any:
            return (body[index : index + 1] for index in range(len(body)))

    size = (draft / WEIGHTS).stat().st_size
    slow[0] = Dripping(206, {"Content-Range": f"bytes 0-99999/{size}"}, body, pause=0.02)
    storage.fault = on(WEIGHTS, lambda seen: slow[0])
    assert "not done within 0.5 seconds" in refused(SOURCE, hub.url, 0.5)


def with_range(text: str, **more: str) -> Callable[[Reply], Reply]:
    return lambda reply: replace(reply, headers={**reply.headers, "Content-Range": text, **more})


WRONG_ANSWERS: dict[str, tuple[Callable[[Reply], Reply], str]] = {
    "another range": (
        with_range("bytes 5-100004/150736"),
        "as 5-100004 of 150736 to a request for bytes 0-99999",
    ),
    "less than asked": (with_range("bytes 0-49999/150736"), "as 0-49999 of 150736"),
    "no range": (with_range(""), 'the Content-Range ""'),
    "no total": (with_range("bytes 0-99999/*"), 'the Content-Range "bytes 0-99999/*"'),
    "words": (with_range("bytes a-b/c"), 'the Content-Range "bytes a-b/c"'),
    "another length": (
        lambda reply: replace(reply, headers={**reply.headers, "Content-Length": "70000"}, cut=70_000),
        "the server sends 70000 bytes as 0-99999",
    ),
    "another size": (
        with_range("bytes 0-99999/150737"),
        "has 150,737 bytes in this answer, and 150,736 in another",
    ),
    "shorter than the listing": (with_range("bytes 0-99999/100001"), "has 100,001 bytes in this answer"),
    "gzip": (
        lambda reply: Reply(200, {"Content-Encoding": "gzip"}, gzip.compress(b"x" * 10_000)),
        'sends it with Content-Encoding "gzip"',
    ),
    "gzip of a range": (
        lambda reply: replace(reply, headers={**reply.headers, "Content-Encoding": "br"}),
        'sends it with Content-Encoding "br"',
    ),
    "not there any more": (
        lambda reply: Reply(416, {"Content-Range": "bytes */0"}),
        "has 0 bytes in this answer",
    ),
    "a range that cannot be": (lambda reply: Reply(416), "is shorter than 0 bytes now"),
    "no length at all": (
        lambda reply: Reply(200, {"Content-Length": "", "Connection": "close"}, b"x", cut=1),
        "does not say how long it is",
    ),
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_an_answer_that_is_not_the_bytes_asked_for_is_refused(
    name: str, hub: Server, storage: Server, draft: Path
) -> None:
    change, cause = WRONG_ANSWERS[name]
    storage.fault = on(WEIGHTS, changed(draft, change))
    assert cause in refused(SOURCE, hub.url)
    assert len(storage.seen) == 1, "the answer would be the same again"


def test_a_file_that_changes_between_two_answers_is_refused(
    hub: Server, storage: Server, draft: Path
) -> None:
    """The hub's ETag is the same, the storage host's is not: If-Range makes it send the new file whole."""
    tags = iter(['"one"', '"two"'])

    def change(reply: Reply) -> Reply:
        return replace(reply, headers={**reply.headers, "ETag": next(tags)}, cut=40_000)

    hub.fault = on(WEIGHTS, lambda seen: ranged_by_redirect(seen, storage))
    storage.fault = on(WEIGHTS, changed(draft, change), times=2)
    assert "changed while it was read" in refused(SOURCE, hub.url)


def ranged_by_redirect(seen: Seen, storage: Server) -> Reply:
    """A redirect without X-Linked-Etag."""
    return Reply(302, {"Location": f"{storage.url}/{seen.name}"})


LISTINGS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "not JSON": lambda listing: b"<html>",
    "a list": lambda listing: [],
    "no commit": lambda listing: {"siblings": []},
    "a commit that is a branch": lambda listing: listing | {"sha": "main"},
    "no files": lambda listing: {"sha": COMMIT},
    "files without sizes": lambda listing: listing | {"siblings": [{"rfilename": "config.json"}]},
    "a size that is none": lambda listing: listing | {"siblings": [{"rfilename": "a", "size": True}]},
    "a negative size": lambda listing: listing | {"siblings": [{"rfilename": "a", "size": -1}]},
    "a name that is none": lambda listing: listing | {"siblings": [{"rfilename": 3, "size": 1}]},
    "one name twice": lambda listing: listing | {"siblings": [{"rfilename": "a", "size": 1}] * 2},
    "a sha256 that is none": lambda listing: (
        listing | {"siblings": [{"rfilename": "a", "size": 1, "lfs": {"sha256": "../x"}}]}
    ),
    "LFS as a list": lambda listing: listing | {"siblings": [{"rfilename": "a", "size": 1, "lfs": [1]}]},
    "LFS as words": lambda listing: listing | {"siblings": [{"rfilename": "a", "size": 1, "lfs": "x"}]},
    "deep": lambda listing: b"[" * 100_000,
}


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_that_makes_no_sense_is_refused(name: str, hub: Server, draft: Path) -> None:
    answer = LISTINGS[name](Hub(draft).listing)
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    hub.fault = on("v1.0.0", lambda seen: Reply(200, {}, body))
    assert "no listing of files with their sizes" in refused(SOURCE, hub.url)


@pytest.mark.parametrize(
    "path", ["../x", "/etc/x", "a/../../x", "a//b", "./a", "", "a\0b", "\ud800", "x" * 300]
)
def test_a_listing_cannot_write_elsewhere(path: str, hub: Server, draft: Path, tmp_path: Path) -> None:
    entry = {"rfilename": path, "size": 1}
    body = json.dumps(Hub(draft).listing | {"siblings": [entry]}).encode()
    hub.fault = on("v1.0.0", lambda seen: Reply(200, {}, body))
    told = refused(SOURCE, hub.url)
    assert "no path of a file in a repository" in told or "no place for" in told
    assert {each.name for each in tmp_path.iterdir()} == {"draft"}


@pytest.mark.parametrize(
    ("size", "told"),
    [(2**63 - 1, "no place for"), (2**63, "a size of no file"), (10**40, "a size of no file")],
)
def test_a_file_that_no_disk_holds_is_refused(size: int, told: str, hub: Server, draft: Path) -> None:
    body = json.dumps(Hub(draft).listing | {"siblings": [{"rfilename": "a", "size": size}]}).encode()
    hub.fault = on("v1.0.0", lambda seen: Reply(200, {}, body))
    assert told in refused(SOURCE, hub.url)


@pytest.mark.parametrize("names", [("config.json", "config.json/x"), ("config.json/x/y", "config.json")])
def test_a_listing_with_a_file_in_a_file_is_refused(names: tuple[str, str], hub: Server, draft: Path) -> None:
    files = [{"rfilename": name, "size": 1} for name in names]
    body = json.dumps(Hub(draft).listing | {"siblings": files}).encode()
    hub.fault = on("v1.0.0", lambda seen: Reply(200, {}, body))
    assert 'the listing names "config.json" as a file' in refused(SOURCE, hub.url)


@pytest.mark.parametrize("seconds", ["nan", "NaN", "inf", "-inf", "0"])
def test_a_limit_that_is_no_number_is_refused(seconds: str, run_zoo: Callable[..., Any]) -> None:
    ran = run_zoo("verify", SOURCE, "--timeout", seconds)
    assert ran.status == 2
    assert "--timeout" in ran.err
    assert "Traceback" not in ran.err


def test_another_commit_than_the_one_asked_for_is_refused(hub: Server, draft: Path) -> None:
    other = "f" * 40
    listing = json.dumps(Hub(draft).listing).encode()
    hub.fault = on(other, lambda seen: Reply(200, {}, listing))
    assert "no listing" in refused(f"hf://{REPO}@{other}", hub.url)


def test_more_files_than_a_checkpoint_has_are_a_finding(
    hub: Server, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.remote.hub.ENTRY_LIMIT", 50)
    monkeypatch.setattr("zoo.checkpoint.listing.ENTRY_LIMIT", 50)
    files = [{"rfilename": f"f{number}", "size": 0} for number in range(10_050)]
    body = json.dumps({"sha": COMMIT, "siblings": files}).encode()
    hub.fault = on("v1.0.0", lambda seen: Reply(200, {}, body))
    with opened(SOURCE, Remote(hub.url, TIMEOUT)) as checkpoint:
        assert "X005" in {finding.code for finding in checkpoint.findings}
        assert len(list(checkpoint.root.iterdir())) == 51


def test_an_empty_weights_file_is_a_finding_and_no_request(hub: Server, draft: Path) -> None:
    (draft / WEIGHTS).write_bytes(b"")
    with opened(SOURCE, Remote(hub.url, TIMEOUT)) as checkpoint:
        assert "F016" in {finding.code for finding in checkpoint.findings}
    assert not hub.asked_for(WEIGHTS)


def test_a_config_that_is_too_large_is_a_finding_and_no_request(hub: Server, draft: Path) -> None:
    (draft / "config.json").write_bytes(b" " * (4 * 1024 * 1024 + 1))
    with opened(SOURCE, Remote(hub.url, TIMEOUT)) as checkpoint:
        assert "C002" in {finding.code for finding in checkpoint.findings}
    assert not hub.asked_for("config.json")


def test_a_pointer_instead_of_weights_is_a_finding(hub: Server, draft: Path) -> None:
    (draft / WEIGHTS).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
    with opened(SOURCE, Remote(hub.url, TIMEOUT)) as checkpoint:
        assert "F010" in {finding.code for finding in checkpoint.findings}


SITE_ANSWERS = {
    "forbidden": (Reply(403), "refuses access (403)"),
    "not allowed": (Reply(401), "refuses access (401)"),
    "broken": (Reply(500), "the server answered 500"),
    "no length": (Reply(200, {"Content-Length": "", "Connection": "close"}, b"{}", cut=2), "how long it is"),
}


@pytest.mark.parametrize("name", SITE_ANSWERS)
@pytest.mark.parametrize("what", [WEIGHTS, "config.json", "model.safetensors.index.json"])
def test_an_error_of_a_site_is_explained(name: str, what: str, site: Server) -> None:
    reply, cause = SITE_ANSWERS[name]
    site.fault = on(what, lambda seen: reply)
    assert cause in refused(site.url, timeout=0.8)


def test_a_site_without_a_checkpoint_is_refused(site: Server) -> None:
    told = refused(f"{site.url}/elsewhere")
    assert "has no config.json and no model.safetensors" in told


def test_a_site_without_weights_is_a_finding(site: Server, draft: Path) -> None:
    (draft / WEIGHTS).unlink()
    with opened(site.url, Remote(timeout=TIMEOUT)) as checkpoint:
        assert {finding.code for finding in checkpoint.findings} == {"F001"}


def test_an_empty_file_of_a_site_is_a_finding(site: Server, draft: Path) -> None:
    (draft / WEIGHTS).write_bytes(b"")
    with opened(site.url, Remote(timeout=TIMEOUT)) as checkpoint:
        assert {finding.code for finding in checkpoint.findings} == {"F016"}


def test_ctrl_c_ends_at_once_and_leaves_nothing(hub: Server, tmp_path: Path) -> None:
    hub.fault = on(WEIGHTS, lambda seen: Reply(wait=5.0))
    command = [sys.executable, "-m", "zoo", "verify", SOURCE, "--endpoint", hub.url]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "HF_HUB_OFFLINE": "0"},
    )
    while not hub.asked_for(WEIGHTS):
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    assert list(tmp_path.glob("zoo-remote-*"))
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=2)
    assert (running.returncode, out, err.strip()) == (130, "", "zoo: interrupted")
    assert not list(tmp_path.glob("zoo-remote-*"))
