"""Two releases at the same time, and a branch that moves under a release. Real processes; the proxy lets the
one wait for the other."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hub.server import HubProcess, running
from tests.release.tiny_zoo import make_checkpoint, make_zoo
from tests.reliability.look import Hub
from tests.reliability.proxy import Proxy, proxy_to
from tests.reliability.scenario import git

PATIENCE = 60
_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with running(tmp_path_factory.mktemp("races") / "hub") as started:
        yield started


@pytest.fixture
def zoo(tmp_path: Path) -> tuple[Path, str]:
    """A zoo in git, and the repository of its draft."""
    root, repo = tmp_path / "zoo", f"acme/tiny-{next(_NUMBERS)}"
    root.mkdir()
    make_zoo(root)
    make_checkpoint(root, root / "checkpoint")
    recipe = root / "recipes/tiny.yaml"
    recipe.write_text(recipe.read_text().replace("repo: zoo-tests/tiny\n", f"repo: {repo}\n"))
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "The zoo")
    return root, repo


def start(hub: HubProcess, root: Path, url: str, *args: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "zoo", "--zoo", str(root), "release", "tiny", "--push", "--to", url, *args]
    return subprocess.Popen(
        argv, env=hub.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit status, and what it said on stderr."""
    _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, err


@contextmanager
def meeting(hub: HubProcess, where: str) -> Iterator[Proxy]:
    """A proxy at which the first two requests of the label ``where`` wait for each other."""
    barrier = threading.Barrier(2)
    with proxy_to(hub.port) as proxy:

        def hold(label: str) -> None:
            if label == where and not barrier.broken:
                barrier.wait(PATIENCE)

        proxy.hold = hold
        yield proxy


def published(root: Path) -> list[tuple[str, str]]:
    log = root / "release/tiny/log.jsonl"
    events = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [(event["version"], event["ref"]) for event in events]


@pytest.mark.parametrize("where", ["POST repos/create", "POST commit/main"])
def test_of_two_releases_at_once_one_wins_and_the_other_says_so(
    process: HubProcess, zoo: tuple[Path, str], where: str
) -> None:
    root, repo = zoo
    other, hub = root.with_name("other"), Hub(process, repo)
    git(root, "clone", "--quiet", str(root), str(other))
    with meeting(process, where) as proxy:
        both = {clone: start(process, clone, proxy.url) for clone in (root, other)}
        ends = {clone: end(running) for clone, running in both.items()}
        assert sorted(status for status, _ in ends.values()) == [0, 1], ends
        lost = next(clone for clone, (status, _) in ends.items() if status)
        assert "moved while this release ran (412)" in ends[lost][1]
        assert "somebody else committed" in ends[lost][1]
        assert len(hub.commits()) == 2
        assert hub.tags() == {"v1.0.0": hub.commits()[0]}
        assert published(lost) == []
        proxy.hold = lambda label: None
        assert end(start(process, lost, proxy.url))[0] == 0
    assert len(hub.commits()) == 2
    assert published(root) == published(other) == [("1.0.0", hub.commits()[0])]


def test_two_that_tag_the_same_commit_at_once_agree(process: HubProcess, zoo: tuple[Path, str]) -> None:
    root, repo = zoo
    other, hub = root.with_name("other"), Hub(process, repo)
    git(root, "clone", "--quiet", str(root), str(other))
    with meeting(process, "POST tag/COMMIT") as proxy:
        first = start(process, root, proxy.url)
        while not any(spot.label == "POST tag/COMMIT" for spot in proxy.seen):
            assert first.poll() is None, end(first)
        second = start(process, other, proxy.url)
        assert end(first)[0] == end(second)[0] == 0
    assert len(hub.commits()) == 2
    assert hub.tags() == {"v1.0.0": hub.commits()[0]}
    assert published(root) == published(other) == [("1.0.0", hub.commits()[0])]


@pytest.mark.parametrize("where", ["POST preupload/main", "POST commit/main"])
def test_a_branch_that_moved_between_plan_and_commit_is_never_overwritten(
    process: HubProcess, zoo: tuple[Path, str], where: str
) -> None:
    root, repo = zoo
    hub, theirs = Hub(process, repo), list[str]()
    with proxy_to(process.port) as proxy:

        def move(label: str) -> None:
            if label == where and not theirs:
                theirs.append(hub.commit("theirs.txt", b"theirs\n"))

        proxy.hold = move
        status, err = end(start(process, root, proxy.url))
        assert status == 1, err
        assert "nothing was overwritten: run the same command again" in err
        assert hub.commits()[0] == theirs[0]
        assert not hub.tags()
        status, err = end(start(process, root, proxy.url))
    assert status == 0, err
    ours, before, _ = hub.commits()
    assert before == theirs[0]
    assert hub.tags() == {"v1.0.0": ours}
    assert "theirs.txt" not in hub.files(ours)
    assert hub.files(before)["theirs.txt"] == b"theirs\n"
