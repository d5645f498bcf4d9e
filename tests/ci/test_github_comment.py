"""The one comment in a pull request on GitHub: the real client, against a server that answers as the GraphQL
API is documented to. The API itself was never reached."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.ci.example import Work
from tests.conftest import Ran
from zoo.report.comment import MARK

TOKEN = "ghs_" + "t" * 36
PAGE = 2


class GitHub(ThreadingHTTPServer):
    """Pull request 7 of acme/zoo; ``comments`` are (who wrote it, text)."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.comments: list[tuple[str, str]] = []
        self.status = 200
        self.errors: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/graphql"

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Answer requests, in a thread."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            thread.join()

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        if query.startswith("query Look"):
            wanted = (variables["owner"], variables["name"], variables["number"])
            if wanted != ("acme", "zoo", 7):
                return {"repository": None}
            begin = int(variables["after"] or 0)
            listed = list(enumerate(self.comments))[begin : begin + PAGE]
            nodes = [
                {"id": f"C{i}", "body": text, "viewerDidAuthor": who == "us"} for i, (who, text) in listed
            ]
            more = begin + PAGE < len(self.comments)
            info = {"hasNextPage": more, "endCursor": str(begin + PAGE) if nodes else None}
            return {
                "repository": {"pullRequest": {"id": "PR7", "comments": {"nodes": nodes, "pageInfo": info}}}
            }
        if query.startswith("mutation Add"):
            assert variables["id"] == "PR7"
            self.comments.append(("us", variables["body"]))
            return {"addComment": {"clientMutationId": None}}
        assert query.startswith("mutation Update")
        index = int(variables["id"].removeprefix("C"))
        self.comments[index] = (self.comments[index][0], variables["body"])
        return {"updateIssueComment": {"clientMutationId": None}}


class _Answers(BaseHTTPRequestHandler):
    server: GitHub

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = self.server.status if self.headers["Authorization"] == f"bearer {TOKEN}" else 401
        body: dict[str, Any] = {"data": None, "errors": self.server.errors}
        if status == 200 and not self.server.errors:
            body = {"data": self.server.answer(asked["query"], asked["variables"])}
        sent = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:9/")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    with GitHub() as server, server.answering():
        monkeypatch.setenv("GITHUB_GRAPHQL_URL", server.url)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield server


@pytest.fixture
def ci(clone: Callable[[str], Work], run_zoo: Callable[..., Ran]) -> Callable[..., Ran]:
    work = clone("main")

    def run(*args: str, spec: str = "acme/zoo#7") -> Ran:
        options = ["--base", "main", "--timeout", "20", "--github-pr", spec, "--comment"]
        return run_zoo("--zoo", work.root, "ci", *options, *args)

    return run


def test_a_comment_is_posted_once_and_then_updated(github: GitHub, ci: Callable[..., Ran]) -> None:
    ran = ci()
    assert ran.status == 0, ran.err
    assert "posted a comment: acme/zoo#7" in ran.err
    [(_, body)] = github.comments
    assert body.startswith(MARK)
    assert "says so already" in ci().err
    github.comments[0] = ("us", f"{MARK}\nold")
    assert "updated the comment" in ci().err
    assert [text for _, text in github.comments] == [body]


def test_the_comment_of_somebody_else_is_left_alone_whatever_it_begins_with(
    github: GitHub, ci: Callable[..., Ran]
) -> None:
    theirs = [("them", f"{MARK}\nall is well"), ("us", f"see {MARK}"), ("them", "hello")]
    github.comments = [*theirs, ("us", f"{MARK}\nold"), ("them", MARK)]
    assert "updated the comment" in ci().err
    assert github.comments[:3] == theirs
    assert github.comments[4] == ("them", MARK)
    assert github.comments[3][1] != f"{MARK}\nold"
    assert len(github.comments) == 5


@pytest.mark.parametrize(
    ("status", "errors", "said"),
    [
        (200, [{"message": "Resource not accessible by integration\x1b[31m"}], "Resource not accessible"),
        (302, [], "GitHub answered 302"),
        (502, [], "GitHub answered 502"),
    ],
)
def test_a_refusal_is_one_line_without_the_token(
    github: GitHub, ci: Callable[..., Ran], status: int, errors: list[dict[str, str]], said: str
) -> None:
    github.status, github.errors = status, errors
    ran = ci()
    assert ran.status == 2
    assert said in ran.err
    assert "pull-requests: write" in ran.err
    assert TOKEN not in ran.err + ran.out
    assert "\x1b" not in ran.err


def test_another_pull_request_is_not_there(github: GitHub, ci: Callable[..., Ran]) -> None:
    ran = ci(spec="acme/zoo#8")
    assert (ran.status, "is not there" in ran.err) == (2, True)


def test_nothing_is_sent_without_a_token_or_to_a_server_that_is_not_https(
    github: GitHub, ci: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_GRAPHQL_URL", "http://api.example.com/graphql")
    assert "is not https" in ci().err
    monkeypatch.delenv("GITHUB_TOKEN")
    ran = ci()
    assert (ran.status, "there is no token" in ran.err) == (2, True)
    assert github.comments == []


@pytest.mark.parametrize(
    "args",
    [
        ("--comment",),
        ("--github-pr", "acme/zoo#7"),
        ("--github-pr", "acme/zoo", "--comment"),
        ("--github-pr", "acme/zoo#7", "--hub-pr", "acme/draft#1", "--comment"),
        ("--github-pr", "acme/zoo#7", "--comment", "--offline"),
        ("--hub-pr", "acme/draft#1", "--offline"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    clone: Callable[[str], Work], run_zoo: Callable[..., Ran], args: tuple[str, ...]
) -> None:
    assert run_zoo("--zoo", clone("main").root, "ci", "--base", "main", *args).status == 2
