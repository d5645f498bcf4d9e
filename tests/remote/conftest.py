"""Fixtures of the remote tests: a tiny draft, and servers that have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.corpus.kit import good_draft
from tests.remote.hub import Folder, Hub, Server, serve

TOKEN = "hf_zooTestsTokenThatNobodyMaySee"


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As a user with a token, whose requests to loopback go through no proxy."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    """A good draft of about 500 kB, more than one request takes."""
    good_draft(tmp_path / "draft")
    return tmp_path / "draft"


@pytest.fixture
def storage(draft: Path) -> Iterator[Server]:
    with serve(Folder(draft)) as server:
        yield server


@pytest.fixture
def hub(draft: Path, storage: Server) -> Iterator[Server]:
    with serve(Hub(draft, storage.url)) as server:
        yield server


@pytest.fixture
def site(draft: Path) -> Iterator[Server]:
    with serve(Folder(draft)) as server:
        yield server
