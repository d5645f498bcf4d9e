"""Requests as a client that is not to be trusted may send them."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

from tests.hub.server import Answer, HubProcess


def line(key: str, **value: Any) -> bytes:
    return json.dumps({"key": key, "value": value}).encode() + b"\n"


def send_commit(hub: HubProcess, repo: str, *lines: bytes, header: dict[str, Any] | None = None) -> Answer:
    body = line("header", **(header or {"summary": "a commit"})) + b"".join(lines)
    return hub.ask("POST", f"/api/models/{repo}/commit/main", body, hub.token)


def add(path: str, content: bytes) -> bytes:
    return line("file", path=path, content=base64.b64encode(content).decode(), encoding="base64")


def offer(hub: HubProcess, repo: str, content: bytes) -> tuple[str, str]:
    """The sha256 of ``content``, and the signed path that the hub gives out for its upload."""
    sha256 = hashlib.sha256(content).hexdigest()
    batch = {"operation": "upload", "objects": [{"oid": sha256, "size": len(content)}]}
    status, _, body = hub.ask("POST", f"/{repo}.git/info/lfs/objects/batch", batch, hub.token)
    assert status == 200
    url = urlsplit(json.loads(body)["objects"][0]["actions"]["upload"]["href"])
    return sha256, f"{url.path}?{url.query}"
