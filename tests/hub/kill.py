"""Kill the hub at random moments while clients use it, and count what they were told against what is there.

``python -m tests.hub.kill --rounds 200 --seed 7`` for a long run; the suite does a short one.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from huggingface_hub import HfApi

from tests.hub.server import HubProcess, running

REPOS = ("acme/one", "acme/two")


@dataclass
class Told:
    """What the hub acknowledged of one repository, as its clients noted it."""

    commits: list[str] = field(default_factory=list)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)  # path -> (commit, content)
    tags: dict[str, str] = field(default_factory=dict)
    comments: dict[int, list[str]] = field(default_factory=dict)
    merged: dict[int, str] = field(default_factory=dict)  # the path that the request added


class Clients:
    """Threads that commit, tag, propose, comment and merge until they are told to stop. What fails (the
    server was killed) is tried no more: the next thing gets a new name. They send their requests themselves,
    because huggingface_hub waits for seconds before it tries again."""

    def __init__(self, hub: HubProcess, seed: int) -> None:
        self.told = {repo: Told() for repo in REPOS}
        self.attempts = 0
        self.refusals: list[str] = []
        self._hub = hub
        self._stop = threading.Event()
        self._random = random.Random(seed)
        jobs = [(repo, job) for repo in REPOS for job in (self._release, self._propose)]
        self._threads = [
            threading.Thread(target=self._work, args=(repo, job, number))
            for number, (repo, job) in enumerate(jobs)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, repo: str, job: Callable[[str, Told, str], None], number: int) -> None:
        step = 0
        while not self._stop.is_set():
            step += 1
            self.attempts += 1
            try:
                job(repo, self.told[repo], f"{number}-{step}")
            except (OSError, http.client.HTTPException):  # what a killed server looks like
                time.sleep(0.02)
            except AssertionError as error:  # an answer that it should not give
                self.refusals.append(str(error))
                return

    def _ask(self, method: str, path: str, body: bytes | dict[str, Any]) -> dict[str, Any]:
        status, _, answer = self._hub.ask(method, path, body, self._hub.token)
        assert status == 200, f"{method} {path}: {status} {answer!r}"
        found: dict[str, Any] = json.loads(answer)
        return found

    def _commit(self, repo: str, name: str, *operations: dict[str, Any], query: str = "") -> dict[str, Any]:
        lines = [{"key": "header", "value": {"summary": name}}, *operations]
        body = "\n".join(map(json.dumps, lines)).encode()
        return self._ask("POST", f"/api/models/{repo}/commit/main{query}", body)

    def _release(self, repo: str, told: Told, name: str) -> None:
        content = self._random.randbytes(self._random.choice((100, 300_000)))
        sha256, path = hashlib.sha256(content).hexdigest(), f"files/{name}.safetensors"
        batch = {"operation": "upload", "objects": [{"oid": sha256, "size": len(content)}]}
        (offer,) = self._ask("POST", f"/{repo}.git/info/lfs/objects/batch", batch)["objects"]
        url = urlsplit(offer["actions"]["upload"]["href"])
        self._ask("PUT", f"{url.path}?{url.query}", content)
        large = {"key": "lfsFile", "value": {"path": path, "oid": sha256, "size": len(content)}}
        commit = self._commit(repo, name, large, small(f"files/{name}.txt", name))["commitOid"]
        told.commits.append(commit)
        told.files[path] = (commit, content)
        self._ask("POST", f"/api/models/{repo}/tag/{commit}", {"tag": f"v{name}", "message": name})
        told.tags[f"v{name}"] = commit

    def _propose(self, repo: str, told: Told, name: str) -> None:
        path = f"proposed/{name}.txt"
        answer = self._commit(repo, name, small(path, name), query="?create_pr=1")
        number = int(answer["pullRequestUrl"].rpartition("/")[2])
        discussion = f"/api/models/{repo}/discussions/{number}"
        told.comments[number] = []
        self._ask("POST", f"{discussion}/comment", {"comment": f"about {name}"})
        told.comments[number].append(f"about {name}")
        self._ask("POST", f"{discussion}/merge", {})
        told.merged[number] = path


def small(path: str, text: str) -> dict[str, Any]:
    """The operation that adds a small file."""
    return {"key": "file", "value": {"path": path, "content": text, "encoding": "utf-8"}}


def check(api: HfApi, repo: str, told: Told) -> None:
    """Everything acknowledged is there, and every reference leads to a complete tree."""
    commits, tags = list(told.commits), dict(told.tags)
    comments = {number: list(texts) for number, texts in told.comments.items()}
    merged = dict(told.merged)
    refs = api.list_repo_refs(repo, include_pull_requests=True)
    history = {commit.commit_id for commit in api.list_repo_commits(repo)}
    assert set(commits) <= history, f"{repo}: lost commits"
    there = {tag.name: tag.target_commit for tag in refs.tags}
    assert tags.items() <= there.items(), f"{repo}: lost tags"
    files = set(api.list_repo_files(repo))
    for number, texts in comments.items():
        details = api.get_discussion_details(repo, number)
        said = [getattr(event, "content", None) for event in details.events]
        assert all(text in said for text in texts), f"{repo}: lost a comment"
        if number in merged:
            assert details.status == "merged"
            assert merged[number] in files, f"{repo}: lost a merge"
    for ref in [*refs.branches, *refs.tags, *(refs.pull_requests or ())]:
        assert list(api.list_repo_tree(repo, recursive=True, revision=ref.ref)), f"{ref.ref} leads nowhere"


def check_bytes(api: HfApi, folder: Path, repo: str, told: Told) -> None:
    """Every acknowledged file has its bytes, and git finds nothing wrong with the repository."""
    for path, (commit, content) in told.files.items():
        (entry,) = api.get_paths_info(repo, [path], revision=commit)
        assert entry.lfs.sha256 == hashlib.sha256(content).hexdigest(), path
        stored = folder / "repos" / repo / "lfs" / "objects" / entry.lfs.sha256[:2] / entry.lfs.sha256[2:4]
        assert (stored / entry.lfs.sha256).read_bytes() == content, path
    if shutil.which("git"):
        bare = str(folder / "repos" / repo)
        argv = [
            "git",
            "-C",
            bare,
            "-c",
            f"safe.directory={bare}",
            "fsck",
            "--full",
            "--strict",
            "--no-dangling",
        ]
        ran = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


def torture(hub: HubProcess, rounds: int, seed: int) -> Clients:
    """Kill and restart ``hub`` so many times under load, and check at the end (what was lost on the way stays
    lost); the clients, for what they did."""
    chance = random.Random(seed)
    for repo in REPOS:
        hub.api().create_repo(repo)
    clients = Clients(hub, seed)
    clients.start()
    try:
        for _ in range(rounds):
            time.sleep(chance.uniform(0.1, 1.0))
            hub.kill()
            hub.start()
    finally:
        clients.stop()
    assert not clients.refusals, clients.refusals
    for repo in REPOS:
        check(hub.api(), repo, clients.told[repo])
        check_bytes(hub.api(), hub.folder, repo, clients.told[repo])
    return clients


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ["NO_PROXY"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "hub") as hub:
        clients = torture(hub, options.rounds, options.seed)
    for repo, told in clients.told.items():
        counts = f"{len(told.commits)} commits, {len(told.tags)} tags, {len(told.merged)} merges"
        print(f"{repo}: {counts}, none lost")
    print(f"{options.rounds} kills, {clients.attempts} attempts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
