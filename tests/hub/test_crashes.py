"""A killed hub loses nothing that it acknowledged, and starts again without repair."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.hub.kill import torture
from tests.hub.server import running
from zoo.hub.commits import advance, parse
from zoo.hub.directory import Hub, prepare, served
from zoo.hub.disk import Disk
from zoo.hub.gitformat import Tag
from zoo.hub.lfs import Pointer
from zoo.hub.refs import TAG, Ref

COMMIT = (
    b'{"key": "header", "value": {"summary": "more"}}\n'
    b'{"key": "file", "value": {"path": "d/a.txt", "content": "MQ==", "encoding": "base64"}}\n'
    b'{"key": "file", "value": {"path": "b.txt", "content": "Mg==", "encoding": "base64"}}\n'
)


def test_killed_at_random_moments_it_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    with running(tmp_path / "hub") as hub:
        clients = torture(hub, rounds=3, seed=20)
    assert all(told.commits and told.tags for told in clients.told.values())


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def store(tmp_path: Path) -> Hub:
    hub = Hub(prepare(tmp_path / "hub"))
    hub.create("acme", "draft", False, "alice", "")
    return hub


def commit(hub: Hub) -> None:
    repo = hub.repo("acme", "draft")
    assert repo is not None
    advance(repo, "refs/heads/main", parse(COMMIT), "alice")


def tag(hub: Hub) -> None:
    repo = hub.repo("acme", "draft")
    assert repo is not None
    target = repo.resolve("main")
    annotated = repo.write_tag(Tag(target, "v1", "alice", 0, "message"))
    repo.write_refs(repo.refs() | {TAG + "v1": Ref(target, annotated)})


def create(hub: Hub) -> None:
    hub.create("acme", "second", True, "alice", "")


def delete(hub: Hub) -> None:
    repo = hub.repo("acme", "draft")
    assert repo is not None
    hub.delete(repo)


def upload(hub: Hub) -> None:
    repo = hub.repo("acme", "draft")
    assert repo is not None
    content = b"weights"

    async def body() -> AsyncIterator[bytes]:
        yield content

    asyncio.run(repo.large.receive(Pointer(hashlib.sha256(content).hexdigest(), len(content)), body()))


def state(hub: Hub) -> dict[str, dict[str, set[str]]]:
    """Repository -> reference -> the files that it leads to, all of them read."""
    found: dict[str, dict[str, set[str]]] = {}
    for repo in hub.repos():
        repo.settings()
        refs = found[repo.id] = {}
        for name, ref in repo.refs().items():
            if ref.tag:
                assert repo.tag(ref.tag).commit == ref.commit
            for file in repo.tree(ref.commit).files.values():
                repo.blob(file.oid)
            refs[name] = set(repo.tree(ref.commit).files)
    return found


@pytest.mark.parametrize("change", [commit, tag, create, delete])
@pytest.mark.parametrize("when", ["before", "after"])
def test_stopped_at_any_rename_it_is_as_before_or_as_after(
    store: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Hub], None], when: str
) -> None:
    """Every rename of a change is made the last thing that the process did, one after the other."""
    before = state(store)
    outcomes = []
    for last in range(100):
        folder = tmp_path / f"{last}"
        fresh = Hub(prepare(folder))
        fresh.create("acme", "draft", False, "alice", "")
        with monkeypatch.context() as patch:
            count = arm(patch, when, last)
            try:
                change(fresh)
                finished = True
            except Killed:
                finished = False
        with served(folder) as again:
            outcomes.append(state(again))
            assert not list((folder / "tmp").iterdir())
            if not finished and outcomes[-1] == before:
                change(again)  # the same, tried again, works
                assert state(again) != before
        if finished:
            assert count[0] <= last
            break
    after = outcomes[-1]
    assert after != before
    assert all(outcome in (before, after) for outcome in outcomes)
    assert len(outcomes) > 1


def arm(patch: pytest.MonkeyPatch, when: str, last: int) -> list[int]:
    """Let the process end before or after its rename number ``last``; the count of renames so far."""
    count = [0]
    rename = Path.replace

    def counted(self: Path, target: Path) -> Path:
        count[0] += 1
        if count[0] > last and when == "before":
            raise Killed
        result = rename(self, target)
        if count[0] > last:
            raise Killed
        return result

    patch.setattr(Path, "replace", counted)
    return count


def test_what_a_killed_server_left_half_done_is_removed_at_the_next_start(tmp_path: Path) -> None:
    disk: Disk = prepare(tmp_path / "hub")
    disk.new_path().write_bytes(b"half an upload")
    with served(tmp_path / "hub"):
        assert not list((tmp_path / "hub" / "tmp").iterdir())


Name = tuple[int, str, int]  # the inode of a folder, a name in it, and the inode that it leads to


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not name open files")
@pytest.mark.parametrize("change", [commit, tag, create, upload])
def test_when_a_change_is_acknowledged_a_power_cut_takes_nothing_of_it(
    store: Hub, monkeypatch: pytest.MonkeyPatch, change: Callable[[Hub], None]
) -> None:
    """Of what is new on the disk, every content was synced, and every name, after it was made."""
    root = store.disk.root
    before = names_below(root)
    contents: set[int] = set()
    names: set[Name] = set()
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_dir():
            names.update(names_in(path))
        else:
            contents.add(path.stat().st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    change(store)
    new = names_below(root) - before
    assert new
    assert new <= names
    files = {path.stat().st_ino for path in root.rglob("*") if path.is_file()}
    assert {inode for _, _, inode in new} & files <= contents


def names_in(folder: Path) -> set[Name]:
    return {(folder.stat().st_ino, path.name, path.stat().st_ino) for path in folder.iterdir()}


def names_below(folder: Path) -> set[Name]:
    return names_in(folder).union(*(names_below(path) for path in folder.iterdir() if path.is_dir()))
