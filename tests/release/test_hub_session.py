"""Whom huggingface_hub asks once it is set up for a hub."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import _detect_agent, build_hf_headers  # type: ignore[attr-defined]

from zoo.release.targets.hub_session import set_up
from zoo.remote.address import HUB


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The hosts that are looked for, in a process that knows nothing yet; none of them is found."""
    hosts: list[str] = []

    def refuse(host: Any, *args: Any, **kwargs: Any) -> Any:
        hosts.append(str(host))
        raise socket.gaierror("no names here")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(constants, "AGENT_HARNESSES_PATH", str(tmp_path / "known.json"))
    monkeypatch.setattr(_detect_agent, "_registry", None)
    return hosts


def test_a_hub_of_ones_own_is_the_only_one_that_is_asked(asked: list[str]) -> None:
    set_up("https://hub.example.org", 1.0)
    build_hf_headers(library_name="draft-zoo")
    assert asked == []


def test_the_client_would_otherwise_ask_the_hub(asked: list[str]) -> None:
    set_up(HUB, 1.0)
    build_hf_headers(library_name="draft-zoo")
    assert set(asked) <= {"huggingface.co"}
    assert asked
