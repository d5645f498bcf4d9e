"""A hub in a process of its own, and the real client in this one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import HfApi, constants

from tests.hub.server import HubProcess, running

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub that all tests share: each uses a repository of its own."""
    with running(tmp_path_factory.mktemp("hub") / "hub") as process:
        yield process


@pytest.fixture(autouse=True)
def real_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The client as ``zoo`` sets it for an endpoint that is not the Hub: without xet."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf-cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")


@pytest.fixture
def api(hub: HubProcess) -> HfApi:
    """alice's client."""
    return hub.api()


@pytest.fixture
def repo(api: HfApi) -> str:
    """A new public repository of acme."""
    return api.create_repo(f"acme/draft-{next(_NUMBERS)}").repo_id
