"""Fixtures of the tests that release to a hub: a real one in a process of its own, and the real client."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import tenacity.nap
from huggingface_hub import HfApi, constants
from huggingface_hub.utils import set_client_factory
from huggingface_hub.utils._http import default_client_factory

from tests.hub.server import HubProcess, running
from tests.release.hub_proxy import Proxy, proxy_to
from zoo.release.targets.hub_client import HubClient

if TYPE_CHECKING:
    from tests.conftest import Ran
    from tests.release.conftest import Place

_NUMBERS = itertools.count(1)


@dataclass
class HubPlace:
    """A zoo that releases to ``repo`` of a hub; ``url`` is where the client goes: the hub, or a proxy in
    front of it. ``api`` is alice's, and goes to the hub itself."""

    place: Place
    hub: HubProcess
    api: HfApi
    repo: str
    url: str

    def release(self, *args: str) -> Ran:
        return self.place.release("--to", self.url, "--timeout", "20", *args)

    def push(self, *args: str) -> Ran:
        return self.release("--push", *args)

    @property
    def commits(self) -> list[str]:
        """The commits of main, newest first."""
        return [commit.commit_id for commit in self.api.list_repo_commits(self.repo)]

    @property
    def tags(self) -> dict[str, str]:
        return {tag.name: tag.target_commit for tag in self.api.list_repo_refs(self.repo).tags}

    @property
    def files(self) -> set[str]:
        return set(self.api.list_repo_files(self.repo))

    @property
    def log(self) -> str:
        return (self.place.root / "release" / "tiny" / "log.jsonl").read_text()

    def make_repo(self, private: bool = True) -> None:
        self.api.create_repo(self.repo, private=private)

    def refused(self, ran: Ran, *said: str, status: int = 2) -> None:
        """``ran`` stopped with a message that says so, and nothing carries the tag."""
        assert ran.status == status, ran.out + ran.err
        for words in said:
            assert words in ran.err, ran.err
        assert self.hub.token not in ran.out + ran.err
        assert not self.api.repo_exists(self.repo) or "v1.0.0" not in self.tags


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with running(tmp_path_factory.mktemp("hub") / "hub") as process:
        yield process


@pytest.fixture
def on_hub(
    hub: HubProcess, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HubPlace]:
    """A fresh zoo, and the name of a repository of acme that is not there yet."""
    repo = f"acme/tiny-{next(_NUMBERS)}"
    place.edit_recipe("repo: zoo-tests/tiny\n", f"repo: {repo}\n")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("HF_TOKEN", hub.token)
    # Between two tries a tenth of the time; what is said of it, and the time limit, are as they are.
    monkeypatch.setattr(tenacity.nap, "time", SimpleNamespace(sleep=lambda seconds: time.sleep(seconds / 10)))
    # Named as an endpoint, so that the client of this process keeps alice's token on the way there too.
    HubClient(hub.url, repo, 30, lambda text: None)
    yield HubPlace(place, hub, hub.api(), repo, hub.url)
    set_client_factory(default_client_factory)


@pytest.fixture
def proxied(on_hub: HubPlace) -> Iterator[tuple[HubPlace, Proxy]]:
    """The same, behind a proxy."""
    with proxy_to(on_hub.hub.port) as proxy:
        on_hub.url = proxy.url
        yield on_hub, proxy


def publish_by_hand(api: HfApi, repo: str, **files: str) -> str:
    """Commit small files to main as somebody else would, and return the commit. ``a__md`` is ``a.md``."""
    from huggingface_hub import CommitOperationAdd

    operations = [
        CommitOperationAdd(name.replace("__", "."), content.encode()) for name, content in files.items()
    ]
    return str(api.create_commit(repo, operations, commit_message="by hand").oid)


def other_weights(on_hub: HubPlace) -> None:
    """Change one byte of the weights that the next run would release."""
    weights = on_hub.place.checkpoint / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-2] ^= 1
    weights.write_bytes(content)
