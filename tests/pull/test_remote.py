"""Pulling from a hub or a web server: only what is wanted, proved, taken up where it broke, or not at all."""

from __future__ import annotations

import hashlib
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

from tests.conftest import REPOSITORY, Ran
from tests.corpus.kit import WEIGHTS, draft_tensors, save
from tests.remote.hub import COMMIT, REPO, UNPROVED, Hub, Reply, Seen, Server, ranged

Run = Callable[..., Ran]
SOURCE = f"hf://{REPO}@v1.0.0"


@pytest.fixture
def big(draft: Path) -> Path:
    """Weights of three megabytes."""
    save(draft / WEIGHTS, draft_tensors() | {"lm_head.weight": ("BF16", (1500, 1000), os.urandom(3_000_000))})
    return draft / WEIGHTS


@pytest.fixture
def pull(run_zoo: Run, hub: Server, tmp_path: Path) -> Callable[..., Ran]:
    """Run ``zoo pull SOURCE --out got`` outside a zoo."""

    def run(source: str = SOURCE, *args: str, timeout: str = "2") -> Ran:
        options = ["--out", str(tmp_path / "got"), "--endpoint", hub.url, "--timeout", timeout]
        return run_zoo("--zoo", tmp_path, "pull", source, *options, *args)

    return run


Pull = Callable[..., Ran]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def hidden(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.glob(".got*"))


def later(change: Callable[[Reply], Reply], file: Path, times: int = 10**9) -> Callable[[Seen], Reply | None]:
    """A fault of the answers that are the download, not the header."""
    left = [times]

    def fault(seen: Seen) -> Reply | None:
        if seen.name != WEIGHTS or not seen.range or seen.range[1] < 100_000 or not left[0]:
            return None
        left[0] -= 1
        return change(ranged(seen, file))

    return fault


def refused(ran: Ran, says: str) -> None:
    """Exit 2 with one line and the next action."""
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) == 2
    assert "Traceback" not in ran.err


def test_config_weights_and_tokenizer_come_and_no_code(pull: Pull, draft: Path, tmp_path: Path) -> None:
    for name in ("modeling.py", "pytorch_model.bin", "README.md", "tokenizer.json", "tokenizer_config.json"):
        (draft / name).write_text(f"# {name}")
    (draft / "extra").mkdir()
    (draft / "extra" / "tokenizer.json").write_text("{}")
    ran = pull()
    assert ran.status == 0, ran.err
    got = tmp_path / "got"
    assert names(got) == {"config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json"}
    assert all(sha256(got / name) == sha256(draft / name) for name in names(got))
    assert f"{SOURCE} (commit {COMMIT}) is in" in ran.out
    assert f"sha256 {sha256(draft / WEIGHTS)[:12]}… as the hub states" in ran.out
    assert "left there: README.md, extra/tokenizer.json, modeling.py, pytorch_model.bin" in ran.out
    assert hidden(tmp_path) == []


def test_every_weight_byte_travels_once(pull: Pull, hub: Server, storage: Server, big: Path) -> None:
    assert pull().status == 0
    assert hub.sent + storage.sent < big.stat().st_size + 120_000
    assert {seen.path.split("/")[4] for seen in hub.seen if "/resolve/" in seen.path} == {COMMIT}


def test_a_connection_that_breaks_is_taken_up_at_once(
    pull: Pull, storage: Server, big: Path, tmp_path: Path
) -> None:
    storage.fault = later(lambda reply: replace(reply, cut=700_000), big, times=3)
    assert pull().status == 0
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)


def cut_for_good(pull: Pull, storage: Server, big: Path, tmp_path: Path) -> Path:
    """A pull whose connection breaks after 1.5 MB and stays broken; the part that it left."""
    good = iter([True])

    def change(reply: Reply) -> Reply:
        return replace(reply, cut=1_500_000) if next(good, False) else Reply(503)

    storage.fault = later(change, big)
    refused(pull(timeout="0.5"), "the same command goes on from there")
    assert not (tmp_path / "got").exists()
    (folder,) = hidden(tmp_path)
    part = folder / f".{WEIGHTS}.part"
    assert 1_000_000 < part.stat().st_size <= 1_500_000
    storage.fault = lambda seen: None
    storage.seen.clear()
    return part


def test_the_next_pull_goes_on_where_the_last_one_broke(
    pull: Pull, storage: Server, big: Path, tmp_path: Path
) -> None:
    had = cut_for_good(pull, storage, big, tmp_path).stat().st_size
    ran = pull()
    assert ran.status == 0, ran.err
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)
    last = storage.seen[-1]
    assert last.range == (had, big.stat().st_size - 1)
    assert last.headers["if-range"] == ranged(last, big).headers["ETag"]
    assert f"{had:,} bytes were here already" in ran.out
    assert hidden(tmp_path) == []


def test_a_part_that_was_damaged_meanwhile_is_fetched_anew(
    pull: Pull, storage: Server, big: Path, tmp_path: Path
) -> None:
    part = cut_for_good(pull, storage, big, tmp_path)
    raw = bytearray(part.read_bytes())
    raw[1000] ^= 1
    part.write_bytes(raw)
    assert pull().status == 0
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)


def test_a_part_longer_than_the_file_is_fetched_anew(
    pull: Pull, storage: Server, big: Path, tmp_path: Path
) -> None:
    part = cut_for_good(pull, storage, big, tmp_path)
    part.write_bytes(bytes(4_000_000))
    assert pull().status == 0
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)


def test_without_ranges_the_next_pull_begins_anew(
    pull: Pull, storage: Server, big: Path, tmp_path: Path
) -> None:
    cut_for_good(pull, storage, big, tmp_path)
    storage.fault = later(lambda reply: Reply(200, {}, (big, 0, big.stat().st_size)), big)
    assert pull().status == 0
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)


def test_the_part_of_another_revision_is_not_used(
    pull: Pull, hub: Server, storage: Server, big: Path, tmp_path: Path
) -> None:
    cut_for_good(pull, storage, big, tmp_path)
    save(big, draft_tensors() | {"lm_head.weight": ("BF16", (1500, 1000), os.urandom(3_000_000))})
    hub.answer = Hub(big.parent, storage.url, commit="b" * 40)
    ran = pull()
    assert ran.status == 0, ran.err
    assert "were here already" not in ran.out
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)
    assert hidden(tmp_path) == []


def test_other_bytes_than_the_hub_states_are_refused(
    pull: Pull, storage: Server, big: Path, tmp_path: Path, hub: Server
) -> None:
    assert pull().status == 0  # the listing is made, of the right bytes
    (tmp_path / "got").rename(tmp_path / "good")
    raw = bytearray(big.read_bytes())
    raw[-1] ^= 1
    (tmp_path / "other").write_bytes(raw)
    storage.fault = lambda seen: ranged(seen, tmp_path / "other")
    refused(pull(), "and the hub states")
    assert not (tmp_path / "got").exists()
    assert hidden(tmp_path) == []


def test_a_file_that_is_replaced_meanwhile_is_refused(
    pull: Pull, storage: Server, big: Path, tmp_path: Path, hub: Server
) -> None:
    def change(reply: Reply) -> Reply:
        return replace(reply, headers={**reply.headers, "ETag": '"another"'})

    hub.fault = lambda seen: (
        Reply(302, {"Location": f"{storage.url}/{WEIGHTS}"}) if seen.name == WEIGHTS else None
    )
    storage.fault = later(change, big)
    refused(pull(), "changed while it was read")
    assert not (tmp_path / "got").exists()


def test_weights_that_cannot_be_read_are_not_downloaded(
    pull: Pull, storage: Server, draft: Path, tmp_path: Path
) -> None:
    (draft / WEIGHTS).write_bytes(b"version https://git-lfs.github.com/spec/v1\n" * 10)
    refused(pull(), "not worth a download")
    assert hidden(tmp_path) == []


def test_a_folder_that_is_taken_is_refused_before_anything_is_asked(
    pull: Pull, hub: Server, tmp_path: Path
) -> None:
    (tmp_path / "got").mkdir()
    (tmp_path / "got" / "mine").touch()
    refused(pull(), "is not empty")
    assert hub.seen == []


def test_a_link_in_the_place_of_the_hidden_folder_is_refused(
    pull: Pull, storage: Server, big: Path, tmp_path: Path
) -> None:
    folder = cut_for_good(pull, storage, big, tmp_path).parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    refused(pull(), "is not yours")


def test_a_second_pull_to_the_same_place_waits_for_the_first(
    pull: Pull, storage: Server, big: Path, tmp_path: Path
) -> None:
    import fcntl

    folder = cut_for_good(pull, storage, big, tmp_path).parent
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    refused(pull(), "another command is downloading")
    os.close(descriptor)
    assert pull().status == 0


def test_a_web_server_is_proved_by_size_tag_and_header(
    pull: Pull, site: Server, draft: Path, tmp_path: Path
) -> None:
    ran = pull(site.url)
    assert ran.status == 0, ran.err
    assert names(tmp_path / "got") == {"config.json", WEIGHTS}
    assert "nobody states a sha256" in ran.out
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(draft / WEIGHTS)


@pytest.mark.parametrize("changed", [False, True])
def test_a_part_of_a_web_server_counts_only_with_its_tag(
    pull: Pull, site: Server, big: Path, tmp_path: Path, changed: bool
) -> None:
    good = iter([True])

    def change(reply: Reply) -> Reply:
        return replace(reply, cut=1_500_000) if next(good, False) else Reply(503)

    site.fault = later(change, big)
    refused(pull(site.url, timeout="0.5"), "goes on from there")
    site.fault = lambda seen: None
    site.seen.clear()
    if changed:
        raw = big.read_bytes()
        big.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    assert pull(site.url).status == 0
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)
    (begin, _) = site.asked_for(WEIGHTS)[-1].range or (-1, -1)
    assert (begin == 0) is changed


@pytest.mark.parametrize("name", UNPROVED)
def test_what_may_be_another_file_is_begun_anew(
    name: str, pull: Pull, site: Server, big: Path, tmp_path: Path
) -> None:
    """The file is replaced by one of the same header, in the middle of the download."""
    raw, cut = big.read_bytes(), [1_500_000]
    other = tmp_path / "other"
    other.write_bytes(raw[:-1000] + bytes(byte ^ 1 for byte in raw[-1000:]))

    def fault(seen: Seen) -> Reply | None:
        if seen.name != WEIGHTS:
            return None
        first = bool(cut)
        streamed = seen.range is not None and seen.range[1] > 100_000
        reply = ranged(seen, big if first else other, {"ETag": ""} | UNPROVED[name][0 if first else 1])
        return replace(reply, cut=cut.pop() if streamed and cut else None)

    site.fault = fault
    ran = pull(site.url)
    assert ran.status == 0, ran.err
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(other)


def test_what_came_of_a_replaced_file_is_not_kept(
    pull: Pull, site: Server, big: Path, tmp_path: Path
) -> None:
    tags = iter(['"1"', '"1"'])

    def fault(seen: Seen) -> Reply | None:
        if seen.name != WEIGHTS:
            return None
        tag = next(tags, '"2"')
        streamed = seen.range is not None and seen.range[1] > 100_000
        return replace(ranged(seen, big, {"ETag": tag}), cut=1_500_000 if streamed and tag == '"1"' else None)

    site.fault = fault
    ran = pull(site.url)
    assert (ran.status, ran.out) == (2, "")
    assert "changed while it was read" in ran.err
    assert "is kept" not in ran.err
    assert hidden(tmp_path) == []


def test_what_always_breaks_without_an_etag_leaves_nothing(
    pull: Pull, site: Server, big: Path, tmp_path: Path
) -> None:
    site.fault = later(lambda reply: replace(reply, cut=1_500_000, headers=reply.headers | {"ETag": ""}), big)
    ran = pull(site.url)
    assert (ran.status, ran.out) == (2, "")
    assert "does not say whether the file changed" in ran.err
    begins = [seen.range[0] for seen in site.asked_for(WEIGHTS)[1:] if seen.range]
    assert begins == [0, 1_500_000] * 3
    assert not list(tmp_path.rglob(f".{WEIGHTS}.part"))


def started(hub: Server, storage: Server, big: Path, tmp_path: Path) -> subprocess.Popen[bytes]:
    """A pull in a process of its own, in the middle of its download."""
    storage.fault = later(lambda reply: replace(reply, pause=0.2), big)
    words = ["zoo", "pull", SOURCE, "--out", "got"]
    script = f"from zoo.cli import main; import sys; sys.argv = {words!r}; main()"
    environment = os.environ | {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    end = time.monotonic() + 30
    while not any(part.stat().st_size for part in tmp_path.glob(f".got*/.{WEIGHTS}.part")):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    return process


def test_ctrl_c_leaves_nothing(hub: Server, storage: Server, big: Path, tmp_path: Path) -> None:
    process = started(hub, storage, big, tmp_path)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert process.returncode == 130
    assert told.strip() == b"zoo: interrupted"
    assert hidden(tmp_path) == []
    assert not (tmp_path / "got").exists()


def test_after_a_kill_the_next_pull_goes_on(
    pull: Pull, hub: Server, storage: Server, big: Path, tmp_path: Path
) -> None:
    process = started(hub, storage, big, tmp_path)
    process.kill()
    process.communicate(timeout=20)
    assert not (tmp_path / "got").exists()
    storage.fault = lambda seen: None
    ran = pull()
    assert ran.status == 0, ran.err
    assert "were here already" in ran.out
    assert sha256(tmp_path / "got" / WEIGHTS) == sha256(big)
    assert hidden(tmp_path) == []


def test_the_launch_command_is_that_of_the_recipe_of_the_source(
    run_zoo: Run, hub: Server, place: Any, tmp_path: Path
) -> None:
    place.edit_recipe("source: ./checkpoint", f"source: hf://{REPO}@v1.0.0")
    out = tmp_path / "my got"
    ran = run_zoo("--zoo", place.root, "pull", SOURCE, "--out", out, "--endpoint", hub.url)
    assert ran.status == 0, ran.err
    assert f"--speculative-draft-model-path '{out}'" in ran.out
    ran = run_zoo(
        "--zoo", place.root, "pull", f"hf://{REPO}@main", "--out", tmp_path / "2", "--endpoint", hub.url
    )
    assert "--speculative-draft-model-path" in ran.out


def test_a_token_is_never_shown_or_kept(pull: Pull, storage: Server, big: Path, tmp_path: Path) -> None:
    part = cut_for_good(pull, storage, big, tmp_path)
    note = json.loads((part.parent / f".{WEIGHTS}.part.json").read_text())
    assert note.keys() == {"tag", "validator"}
    assert "hf_" not in json.dumps(note)
    assert "signature" not in json.dumps(note)


def test_without_a_tag_another_header_is_noticed_at_the_end(
    pull: Pull, site: Server, big: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.safetensors"
    other.write_bytes(big.read_bytes().replace(b"lm_head.weight", b"lm_hand.weight", 1))

    def without_tag(seen: Seen) -> Reply | None:
        if seen.name != WEIGHTS or seen.range is None:
            return None
        return ranged(seen, big if seen.range[1] < 100_000 else other, {"ETag": ""})

    site.fault = without_tag
    refused(pull(site.url), "is not the one that")
    assert not (tmp_path / "got").exists()
