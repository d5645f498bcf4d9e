"""A real hub in a process of its own, as ``zoo hub serve`` runs it.

Other tests take the fixture ``hub`` (tests/hub/conftest.py), or ``with running(folder) as hub:``.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi

from zoo.hub.users import open_users

PATIENCE = 30  # seconds that a process gets before a test gives up
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class HubProcess:
    """A hub over ``folder``. Users: alice (member of acme; a token to write, one to read) and bob, a
    stranger with a token to write."""

    folder: Path
    token: str
    read_token: str
    stranger_token: str
    url: str = ""
    port: int = 0
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start the server; at the same port as before, if there was one."""
        argv = [sys.executable, "-m", "zoo", "hub", "serve", str(self.folder), "--port", str(self.port)]
        with (self.folder.parent / f"{self.folder.name}.log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert " at http://" in line, f"the hub did not start: {line}{self.log()}"
        self.url = line.split(" at ")[1].strip()
        self.port = int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def log(self) -> str:
        """What the server wrote to stderr: a line per request."""
        return (self.folder.parent / f"{self.folder.name}.log").read_text()

    def api(self, token: str | bool | None = None) -> HfApi:
        """A client of alice, or with another token; False is a stranger without one."""
        return HfApi(endpoint=self.url, token=self.token if token is None else token)

    def env(self, token: str | None = None) -> dict[str, str]:
        """The environment of a process whose huggingface_hub talks to this hub."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        return env | {
            "HF_ENDPOINT": self.url,
            "HF_TOKEN": self.token if token is None else token,
            "HF_HOME": str(self.folder.parent / "hf-home"),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def ask(
        self, method: str, path: str, body: bytes | dict[str, Any] = b"", token: str = "", **headers: str
    ) -> Answer:
        """One request, exactly as given: nothing mends the path or tries again. Status, headers and body."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@contextmanager
def running(folder: Path) -> Iterator[HubProcess]:
    """A hub over ``folder`` (which is made) until the block ends."""
    users = open_users(folder)
    hub = HubProcess(
        folder,
        token=users.add("alice", ("acme",), "write")[0],
        read_token=users.add("alice", (), "read")[0],
        stranger_token=users.add("bob", (), "write")[0],
    )
    hub.start()
    try:
        yield hub
    finally:
        assert hub.process is not None
        if hub.process.poll() is None:
            hub.stop()
