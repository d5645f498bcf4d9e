"""Tokens are planted wherever one may come from, and then looked for wherever one may end up: what is
printed, the files of the zoo, what the hub holds and logs, the arguments of every process, the report of a
crash."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.hub.server import HubProcess, running
from tests.release.tiny_zoo import make_checkpoint, make_zoo

# Shaped as the Hub's tokens are, and one of nobody.
PLANTED = "hf_" + "pLaNtEd" * 5
_NUMBERS = itertools.count(1)
# A process in which the client fails in a way that nobody expected, and quotes what it was about to send.
CRASHES = """
import sys
import huggingface_hub, zoo.cli

def fails(self, *args, **kwargs):
    raise RuntimeError(f"unexpected: {self._build_hf_headers()}")

huggingface_hub.HfApi.create_commit = fails
sys.exit(zoo.cli.run(sys.argv[1:]))
"""


@dataclass
class Secretive:
    """A zoo whose runs are watched. ``arguments``: what the process list showed of processes of ours."""

    root: Path
    hub: HubProcess
    repo: str
    arguments: set[str] = field(default_factory=set, repr=False)

    def run(
        self, *args: str, env: Mapping[str, str] | None = None, program: tuple[str, ...] = ("-m", "zoo")
    ) -> subprocess.CompletedProcess[str]:
        """Run ``zoo ARGS`` in a process, and read /proc while it runs."""
        argv = [sys.executable, *program, "--zoo", str(self.root), *args]
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(ended,))
        watch.start()
        try:
            return subprocess.run(
                argv,
                env={**self.hub.env(), **(env or {})},
                capture_output=True,
                text=True,
                timeout=60,
                cwd=self.root,
            )
        finally:
            ended.set()
            watch.join()

    def push(self, *args: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return self.run("release", "tiny", "--push", "--to", self.hub.url, *args, **more)

    def _watch(self, ended: threading.Event) -> None:
        while not ended.wait(0.02):
            for each in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    words = each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    # Another test of this run, in another worker, may have a token where none belongs.
                    other = "pytest-of-" in words and str(self.root) not in words
                    if not other and ("zoo" in words or words.startswith("git ")):
                        self.arguments.add(words)

    def edit_recipe(self, old: str, new: str) -> None:
        recipe = self.root / "recipes/tiny.yaml"
        text = recipe.read_text()
        assert old in text
        recipe.write_text(text.replace(old, new))

    def found(self, token: str, *but: Path) -> list[str]:
        """Where ``token`` is: below the zoo (except in the files ``but``), on the hub's disk, in its log, in
        the process list."""
        places = [path for folder in (self.root, self.hub.folder) for path in folder.rglob("*")]
        holding = [
            str(path)
            for path in places
            if path.is_file() and path not in but and token.encode() in path.read_bytes()
        ]
        holding += ["the hub's log"] * (token in self.hub.log())
        return holding + [words for words in self.arguments if token in words]

    def released(self) -> bool:
        status, _, body = self.hub.ask("GET", f"/api/models/{self.repo}/refs", token=self.hub.token)
        return status == 200 and bool(json.loads(body)["tags"])


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with running(tmp_path_factory.mktemp("secrets") / "hub") as process:
        yield process


@pytest.fixture
def zoo(hub: HubProcess, tmp_path: Path) -> Secretive:
    root, repo = tmp_path / "zoo", f"acme/tiny-{next(_NUMBERS)}"
    root.mkdir()
    make_zoo(root)
    make_checkpoint(root, root / "checkpoint")
    place = Secretive(root, hub, repo)
    place.edit_recipe("repo: zoo-tests/tiny\n", f"repo: {repo}\n")
    return place


def shown(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def test_a_token_of_the_environment_is_used_and_kept_nowhere(zoo: Secretive) -> None:
    done = zoo.push("--format", "json")
    assert done.returncode == 0, done.stderr
    assert zoo.released()
    again = zoo.push()
    assert again.returncode == 0, again.stderr
    assert (zoo.root / ".zoo/journal/tiny-1.0.0.jsonl").is_file()
    assert any(" zoo " in words for words in zoo.arguments)
    assert zoo.hub.token not in shown(done) + shown(again)
    assert zoo.found(zoo.hub.token) == []


def test_a_token_file_is_used_and_copied_nowhere(zoo: Secretive, tmp_path: Path) -> None:
    file = tmp_path / "my-token"
    file.write_text(zoo.hub.token + "\n")
    done = zoo.push(env={"HF_TOKEN": "", "HF_TOKEN_PATH": str(file)})
    assert done.returncode == 0, done.stderr
    assert zoo.released()
    assert zoo.hub.token not in shown(done)
    assert zoo.found(zoo.hub.token) == []


@pytest.mark.parametrize(
    ("command", "form"),
    [
        ("release --push --to", "user:{}@"),
        ("release --push --to", "{}@"),
        ("release --to", "user:{}@"),
        ("verify", "user:{}@"),
        ("yank", "user:{}@"),
        ("hf", "user:{}@"),
    ],
)
def test_a_token_in_an_address_is_refused_and_not_shown(zoo: Secretive, command: str, form: str) -> None:
    url = zoo.hub.url.replace("://", "://" + form.format(PLANTED))
    env: dict[str, str] = {}
    match command:
        case "hf":
            args, env = ["release", "tiny", "--push", "--to", "hf"], {"HF_ENDPOINT": url}
        case "yank":
            assert zoo.push().returncode == 0
            args = ["yank", "tiny@1.0.0", "--reason", "broken", "--to", url]
        case "verify":
            args = ["verify", f"hf://{zoo.repo}@main", "--endpoint", url]
        case _:
            verb, *options = command.split()
            args = [verb, "tiny", *options, url]
    done = zoo.run(*args, env=env)
    assert done.returncode == 2, shown(done)
    assert PLANTED not in shown(done)
    zoo.arguments.clear()  # who types a secret there has shown it
    assert zoo.found(PLANTED) == []


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_token_in_a_reason_is_refused_and_not_shown(zoo: Secretive, form: str) -> None:
    done = zoo.push("--unchecked", f"replay=see {PLANTED}", "--format", form)
    assert done.returncode in (1, 2)
    assert PLANTED not in shown(done)
    assert not zoo.released()
    zoo.arguments.clear()
    assert zoo.found(PLANTED) == []


@pytest.mark.parametrize(
    ("file", "push"),
    [("report.pdf", True), ("config.json", True), ("model.safetensors", True), ("config.json", False)],
)
def test_a_token_in_a_file_of_the_release_is_refused_and_not_shown(
    zoo: Secretive, file: str, push: bool
) -> None:
    path = zoo.root / "checkpoint" / file
    if file == "config.json":
        path.write_text(json.dumps({**json.loads(path.read_text()), "pushed_with": PLANTED}))
    elif file == "report.pdf":
        path.write_bytes(path.read_bytes() + f"\n% {PLANTED}\n".encode())
    else:
        raw = path.read_bytes()
        size = int.from_bytes(raw[:8], "little")
        header = {**json.loads(raw[8 : 8 + size]), "__metadata__": {"format": "pt", "by": PLANTED}}
        changed = json.dumps(header).encode()
        path.write_bytes(len(changed).to_bytes(8, "little") + changed + raw[8 + size :])
    done = zoo.push() if push else zoo.run("release", "tiny", "--to", zoo.hub.url)
    assert done.returncode == 1, shown(done)
    assert "holds a Hugging Face token" in shown(done)
    assert PLANTED not in shown(done)
    assert not zoo.released()
    assert zoo.found(PLANTED, path) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("summary: A draft", "summary: A draft {} draft"),
        ("title: A tiny draft", "title: A tiny {} draft"),
        ("run: tiny", "run: tiny-{}"),
        ("serve: [sglang-tiny]", "serve: [sglang-tiny]\n# {}"),
    ],
)
def test_a_token_in_the_recipe_never_reaches_the_hub(zoo: Secretive, old: str, new: str) -> None:
    zoo.edit_recipe(old, new.format(PLANTED))
    done = zoo.push()
    if not new.split("\n")[-1].startswith("#"):  # a comment is no part of the release
        assert done.returncode == 1, shown(done)
        assert not zoo.released()
    assert PLANTED not in shown(done)
    assert zoo.found(PLANTED, zoo.root / "recipes/tiny.yaml") == []


@pytest.mark.parametrize("bad", ["\x01", "\n\t x", "ü"])
def test_a_token_that_cannot_be_sent_is_not_shown(zoo: Secretive, bad: str) -> None:
    token = PLANTED + bad + "x"
    done = zoo.push(env={"HF_TOKEN": token})
    assert done.returncode == 2, shown(done)
    assert PLANTED not in shown(done)
    assert zoo.found(PLANTED) == []


@pytest.mark.parametrize("source", ["HF_TOKEN", "HF_TOKEN_PATH"])
def test_the_report_of_a_crash_does_not_show_the_token(zoo: Secretive, source: str, tmp_path: Path) -> None:
    file = tmp_path / "my-token"
    file.write_text(zoo.hub.token)
    env = {"HF_TOKEN": zoo.hub.token if source == "HF_TOKEN" else "", "HF_TOKEN_PATH": str(file)}
    script = tmp_path / "crashes.py"
    script.write_text(CRASHES)
    done = zoo.push(env=env, program=(str(script),))
    assert done.returncode == 2
    assert "unexpected" in done.stderr, "the report says what happened"
    assert zoo.hub.token not in shown(done)
    assert zoo.found(zoo.hub.token) == []


@contextmanager
def server(status: int, location: str = "") -> Iterator[tuple[str, list[str]]]:
    """A server that says the token of each request back, in body and headers; or sends it on. Its address,
    and the tokens that it got."""
    tokens: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def echo(self) -> None:
            token = self.headers.get("Authorization", "")
            tokens.append(token)
            body = json.dumps({"error": f"no: {token}", "message": token}).encode()
            self.send_response(status)
            for name in ("X-Error-Message", "X-Error-Code", "X-Request-Id"):
                self.send_header(name, token or "none")
            if location:
                self.send_header("Location", location + self.path)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

        do_GET = do_HEAD = do_POST = do_PUT = echo  # noqa: N815

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", tokens
    finally:
        listening.shutdown()
        listening.server_close()


@pytest.mark.parametrize("status", [200, 401, 403, 409, 429, 500])
def test_what_a_hub_says_back_is_not_shown(zoo: Secretive, status: int) -> None:
    with server(status) as (url, tokens):
        done = zoo.run("release", "tiny", "--push", "--to", url, "--timeout", "1")
    assert any(zoo.hub.token in token for token in tokens)
    assert done.returncode in (1, 2), shown(done)
    assert "Traceback" not in done.stderr
    assert zoo.hub.token not in shown(done)
    assert zoo.found(zoo.hub.token) == []


def test_a_token_does_not_follow_to_another_server(zoo: Secretive) -> None:
    with server(401) as (other, theirs), server(307, other) as (url, ours):
        done = zoo.run("release", "tiny", "--push", "--to", url, "--timeout", "1")
    assert done.returncode == 2, shown(done)
    assert any(zoo.hub.token in token for token in ours)
    assert theirs
    assert not any(zoo.hub.token in token for token in theirs)
    assert zoo.hub.token not in shown(done)


def test_git_gets_no_token(zoo: Secretive) -> None:
    """It is the one program that a release starts, and what it starts itself is for others to say."""
    tools = zoo.root.parent / "bin"
    tools.mkdir()
    spy, seen = tools / "git", zoo.root.parent / "seen"
    spy.write_text(f'#!/bin/sh\nenv >> "{seen}"\necho "$@" >> "{seen}"\nexit 1\n')
    spy.chmod(0o755)
    done = zoo.push(env={"PATH": f"{tools}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert "PATH=" in seen.read_text()
    assert zoo.hub.token not in seen.read_text()
