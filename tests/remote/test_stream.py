"""Every byte of a file elsewhere, in order, without a copy on the disk."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from tests.corpus.kit import WEIGHTS, draft_tensors, good_draft, save
from tests.remote.hub import REPO, UNPROVED, Reply, Seen, Server, ranged
from zoo.checkpoint.compare import unchanged_tensors
from zoo.checkpoint.folder import open_checkpoint
from zoo.digests import FileDigest
from zoo.errors import UnreadableError
from zoo.remote.address import Remote
from zoo.remote.limits import Pace
from zoo.remote.source import opened
from zoo.rules import RULES, Level
from zoo.sources import Sources
from zoo.verify import verify_source

SOURCE = f"hf://{REPO}@v1.0.0"
SIZE = 3_000_000


@pytest.fixture
def big(draft: Path) -> Path:
    """Weights of three megabytes, most of them in one tensor."""
    rest = os.urandom(SIZE)
    save(draft / WEIGHTS, draft_tensors() | {"lm_head.weight": ("BF16", (1500, 1000), rest)})
    return draft / WEIGHTS


@contextmanager
def streamed(endpoint: str, timeout: float = 1.0) -> Iterator[BinaryIO]:
    with opened(SOURCE, Remote(endpoint, timeout)) as checkpoint:
        assert checkpoint.opener is not None
        with checkpoint.opener(WEIGHTS) as file:
            yield file


def refused(endpoint: str, timeout: float = 1.0) -> str:
    with streamed(endpoint, timeout) as file, pytest.raises(UnreadableError) as raised:
        digest(file)
    assert raised.value.hint
    return raised.value.message


def digest(file: BinaryIO) -> str:
    found = hashlib.sha256()
    while chunk := file.read(100_001):
        found.update(chunk)
    return found.hexdigest()


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def later(change: Callable[[Reply], Reply], big: Path, times: int = 10**9) -> Callable[[Seen], Reply | None]:
    """A fault of the answers that are a stream, not the header."""
    left = [times]

    def fault(seen: Seen) -> Reply | None:
        if seen.range is None or seen.range[1] < 100_000 or not left[0]:
            return None
        left[0] -= 1
        return change(ranged(seen, big))

    return fault


def test_all_bytes_come_in_one_request(hub: Server, storage: Server, big: Path) -> None:
    with streamed(hub.url) as file:
        assert digest(file) == sha256(big)
        assert file.read(10) == b""
        assert file.tell() == big.stat().st_size
    assert [seen.range for seen in storage.seen[1:]] == [(0, big.stat().st_size - 1)]


def test_the_disk_holds_no_copy(hub: Server, big: Path, tmp_path: Path) -> None:
    with streamed(hub.url) as file:
        digest(file)
        held = next(tmp_path.glob("zoo-remote-*")) / WEIGHTS
        assert held.stat().st_blocks * 512 < 300_000 < held.stat().st_size


def test_readinto_fills_what_it_says(hub: Server, big: Path) -> None:
    whole, buffer = bytearray(), memoryview(bytearray(70_000))
    with streamed(hub.url) as file:
        while count := file.readinto(buffer):  # type: ignore[attr-defined]
            whole += buffer[:count]
    assert whole == big.read_bytes()


def test_a_part_is_found_by_its_offset(hub: Server, big: Path) -> None:
    with streamed(hub.url) as file:
        assert file.seek(1_000_000) == 1_000_000
        assert file.read(1000) == big.read_bytes()[1_000_000:1_001_000]
        file.seek(5)
        assert file.read(1000) == big.read_bytes()[5:1005]


def test_a_small_file_is_the_one_that_was_read(hub: Server, draft: Path) -> None:
    with opened(SOURCE, Remote(hub.url)) as checkpoint:
        assert checkpoint.opener is not None
        asked = len(hub.seen)
        with checkpoint.opener("config.json") as file:
            assert file.read(10_000) == (draft / "config.json").read_bytes()
        assert len(hub.seen) == asked


def test_a_connection_that_breaks_is_taken_up(hub: Server, storage: Server, big: Path) -> None:
    storage.fault = later(lambda reply: replace(reply, cut=700_000), big, times=3)
    with streamed(hub.url) as file:
        assert digest(file) == sha256(big)
    begins = [seen.range[0] for seen in storage.seen[1:] if seen.range]
    assert begins == [0, 700_000, 1_400_000, 2_100_000]
    assert all(seen.headers["if-range"] for seen in storage.seen[2:])


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_error_is_tried_again(status: int, hub: Server, storage: Server, big: Path) -> None:
    storage.fault = later(lambda reply: Reply(status), big, times=2)
    with streamed(hub.url) as file:
        assert digest(file) == sha256(big)


def broken(site: Server, draft: Path, headers: tuple[dict[str, str], dict[str, str]]) -> None:
    """A break after 1 MB of the stream; the answers to that have ``headers``."""
    cut = [1_000_000]

    def fault(seen: Seen) -> Reply | None:
        if seen.name != WEIGHTS:
            return None
        streamed = seen.range is not None and seen.range[1] > 100_000
        now = headers[0] if cut else headers[1]
        reply = ranged(seen, draft / WEIGHTS, {"ETag": ""} | now)
        return replace(reply, cut=cut.pop() if streamed and cut else None)

    site.fault = fault


@pytest.mark.parametrize("name", UNPROVED)
def test_what_may_be_another_file_is_not_joined(name: str, site: Server, big: Path) -> None:
    broken(site, big.parent, UNPROVED[name])
    with opened(site.url, Remote(timeout=1.0)) as checkpoint:
        assert checkpoint.opener is not None
        with checkpoint.opener(WEIGHTS) as file, pytest.raises(UnreadableError) as raised:
            digest(file)
    assert "the connection broke and the server does not say whether the file changed" in raised.value.message
    assert raised.value.exit_status == 2


def test_another_strong_etag_is_a_change(site: Server, big: Path) -> None:
    broken(site, big.parent, ({"ETag": '"1"'}, {"ETag": '"2"'}))
    with opened(site.url, Remote(timeout=1.0)) as checkpoint:
        assert checkpoint.opener is not None
        with checkpoint.opener(WEIGHTS) as file, pytest.raises(UnreadableError, match="changed while"):
            digest(file)


def test_without_an_etag_a_later_part_comes_in_the_same_answer(site: Server, big: Path) -> None:
    site.fault = later(lambda reply: replace(reply, headers=reply.headers | {"ETag": ""}), big)
    with opened(site.url, Remote(timeout=1.0)) as checkpoint:
        assert checkpoint.opener is not None
        asked = len(site.seen)
        with checkpoint.opener(WEIGHTS) as file:
            file.read(10)
            file.seek(2_000_000)
            assert file.read(10) == big.read_bytes()[2_000_000:2_000_010]
            assert len(site.seen) == asked + 1
            file.seek(5)
            with pytest.raises(UnreadableError, match="does not say whether"):
                file.read(10)


def test_a_file_that_was_replaced_is_refused(hub: Server, storage: Server, big: Path) -> None:
    """The same size, another content: after the break, If-Range brings all of the new file."""

    def change(reply: Reply) -> Reply:
        return replace(reply, headers={**reply.headers, "ETag": '"another"', "X-Linked-Etag": '"another"'})

    hub.fault = lambda seen: (
        Reply(302, {"Location": f"{storage.url}/{WEIGHTS}"}) if seen.name == WEIGHTS else None
    )
    storage.fault = later(change, big)
    assert "changed while it was read" in refused(hub.url)


def test_a_file_that_grew_is_refused(hub: Server, storage: Server, big: Path) -> None:
    with streamed(hub.url) as file:
        file.read(10)
        with big.open("ab") as more:
            more.write(b"x")
        file.seek(2_000_000)
        with pytest.raises(UnreadableError, match="in this answer, and"):
            file.read(10)


def test_a_stream_without_range_is_read_once_and_not_resumed(hub: Server, storage: Server, big: Path) -> None:
    def whole(reply: Reply) -> Reply:
        return Reply(200, {"ETag": reply.headers["ETag"]}, (big, 0, big.stat().st_size))

    storage.fault = later(whole, big)
    with streamed(hub.url) as file:
        assert digest(file) == sha256(big)
    storage.fault = later(lambda reply: replace(whole(reply), cut=2_000_000), big)
    assert "the server ignores Range" in refused(hub.url)


def test_a_server_that_stalls_is_given_up(hub: Server, storage: Server, big: Path) -> None:
    storage.fault = later(lambda reply: replace(reply, stall=3.0), big)
    began = time.monotonic()
    assert "stopped sending" in refused(hub.url, 0.6)
    assert time.monotonic() - began < 2


def test_a_stream_that_hardly_moves_is_given_up(hub: Server, storage: Server, big: Path) -> None:
    """Every byte comes in time, and the last one would come in days."""

    class Dripping(Reply):
        def chunks(self) -> Any:
            return (b"x" for _ in range(SIZE))

    def drip(reply: Reply) -> Reply:
        return Dripping(206, reply.headers, reply.body, pause=0.01)

    storage.fault = later(drip, big)
    began = time.monotonic()
    assert "fewer than 10,000 bytes a second arrive" in refused(hub.url, 0.5)
    assert time.monotonic() - began < 2


def test_time_that_the_reader_takes_is_not_the_servers(hub: Server, big: Path) -> None:
    with streamed(hub.url, 0.3) as file:
        found = hashlib.sha256(file.read(1000))
        time.sleep(0.5)
        while chunk := file.read(1 << 20):
            found.update(chunk)
    assert found.hexdigest() == sha256(big)


def test_a_pace_begins_anew_with_enough_bytes() -> None:
    pace = Pace(0.2)
    for _ in range(3):
        with pace:
            time.sleep(0.12)
            pace.moved(2000)
        assert pace.left() > 0.15
    with pace:
        time.sleep(0.25)
        with pytest.raises(UnreadableError):
            pace.moved(1)


def test_other_bytes_than_the_hub_states_are_an_error() -> None:
    scan = SimpleNamespace(files={"a": FileDigest("a", 1, "0" * 64), "b": FileDigest("b", 1, "1" * 64)})
    stated = {"a": "0" * 64, "b": "2" * 64, "never read": "3" * 64}
    subject: Any = SimpleNamespace(scan=scan, reported_sha256=stated)
    findings = list(RULES["F220"].check(subject))
    assert [finding.where.file for finding in findings] == ["b"]
    assert "the hub states 2222" in findings[0].message


def deep(endpoint: str) -> Any:
    with Sources(Remote(endpoint, 2.0)) as sources:
        return verify_source(SOURCE, level=Level.DEEP, sources=sources).report


def test_a_deep_pass_streams_and_agrees_with_the_hub(hub: Server, draft: Path) -> None:
    report = deep(hub.url)
    assert report.exit_status == 0
    assert next(result for result in report.results if result.code == "F220").outcome == "passed"
    local = verify_source(str(draft), level=Level.DEEP).report
    assert [each.as_json() for each in report.results if each.code != "F220"] == [
        each.as_json() for each in local.results if each.code != "F220"
    ]


def test_a_deep_pass_finds_bytes_that_the_storage_host_changed(
    hub: Server, storage: Server, draft: Path, tmp_path: Path
) -> None:
    raw = bytearray((draft / WEIGHTS).read_bytes())
    raw[-1] ^= 1
    (tmp_path / "other").write_bytes(raw)
    with opened(SOURCE, Remote(hub.url)):  # the listing is made once, of the right bytes
        pass
    storage.fault = lambda seen: ranged(seen, tmp_path / "other")
    report = deep(hub.url)
    assert {finding.code for finding in report.findings} == {"F220"}
    assert report.exit_status == 1


def test_a_deep_pass_that_breaks_off_is_no_verdict(hub: Server, storage: Server, big: Path) -> None:
    storage.fault = later(lambda reply: replace(reply, cut=0), big)
    with pytest.raises(UnreadableError, match="the connection broke"):
        deep(hub.url)


def test_tensors_elsewhere_are_compared_by_their_bytes(hub: Server, draft: Path, tmp_path: Path) -> None:
    """And not by the zeros that the local stand-in of the file holds."""
    good_draft(tmp_path / "base")
    tensors = draft_tensors()
    dtype, shape, data = tensors["norm.weight"]
    save(tmp_path / "base" / WEIGHTS, tensors | {"norm.weight": (dtype, shape, bytes(len(data)))})
    base = open_checkpoint(tmp_path / "base", "base")
    with opened(SOURCE, Remote(hub.url)) as ours, opened(SOURCE, Remote(hub.url)) as again:
        assert unchanged_tensors(ours, base) == ours.tensors.keys() - {"norm.weight"}
        assert unchanged_tensors(ours, again) == ours.tensors.keys()
