"""A hub over its API, without any code of the product or of huggingface_hub."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.hub.server import HubProcess


@dataclass(frozen=True)
class Hub:
    """The repository ``repo`` as its owner sees it."""

    process: HubProcess
    repo: str

    def get(self, path: str) -> Any:
        """The JSON at ``path`` of the repository's API, or None if it is not there."""
        status, _, body = self.process.ask("GET", f"/api/models/{self.repo}{path}", token=self.process.token)
        assert status in (200, 404), (status, body)
        return json.loads(body) if status == 200 else None

    def commits(self, revision: str = "main") -> tuple[str, ...]:
        """The commits of a branch, newest first; none if there is no repository."""
        return tuple(commit["id"] for commit in self.get(f"/commits/{revision}") or ())

    def tags(self) -> Mapping[str, str]:
        refs = self.get("/refs") or {"tags": []}
        return {tag["name"]: tag["targetCommit"] for tag in refs["tags"]}

    def branches(self) -> Mapping[str, str]:
        refs = self.get("/refs") or {"branches": []}
        return {branch["name"]: branch["targetCommit"] for branch in refs["branches"]}

    def private(self) -> bool | None:
        """Whether strangers see nothing of it; None if there is no repository."""
        status, _, _ = self.process.ask("GET", f"/api/models/{self.repo}")
        there = self.get("")
        return None if there is None else status != 200

    def files(self, commit: str) -> dict[str, bytes]:
        """Every file of a commit, its bytes read back; what the hub states of them must be true."""
        found = {}
        for entry in self.get(f"/tree/{commit}?recursive=true"):
            if entry["type"] != "file":
                continue
            path = entry["path"]
            status, _, content = self.process.ask(
                "GET", f"/{self.repo}/resolve/{commit}/{path}", token=self.process.token
            )
            assert status == 200, (path, status)
            assert len(content) == entry["size"], path
            if "lfs" in entry:
                assert hashlib.sha256(content).hexdigest() == entry["lfs"]["oid"], path
            else:
                blob = b"blob %d\0" % len(content) + content
                assert hashlib.sha1(blob, usedforsecurity=False).hexdigest() == entry["oid"], path
            found[path] = content
        return found

    def commit(self, path: str, content: bytes) -> str:
        """Commit one small file to main, as somebody else would; the commit."""
        file = {"path": path, "content": base64.b64encode(content).decode(), "encoding": "base64"}
        lines = [
            {"key": "header", "value": {"summary": "by hand", "description": ""}},
            {"key": "file", "value": file},
        ]
        status, _, body = self.process.ask(
            "POST",
            f"/api/models/{self.repo}/commit/main",
            "\n".join(map(json.dumps, lines)).encode(),
            self.process.token,
            **{"Content-Type": "application/x-ndjson"},
        )
        assert status == 200, body
        return str(json.loads(body)["commitOid"])

    def pull_requests(self) -> list[dict[str, Any]]:
        return list((self.get("/discussions?type=pull_request") or {"discussions": []})["discussions"])
