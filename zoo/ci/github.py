"""The one comment of ``zoo ci`` in a pull request on GitHub, through its GraphQL API: it alone says, of each
comment and for every kind of token, whether it is one's own (``viewerDidAuthor``).

Token and address are in the environment, as a job has them: ``GITHUB_TOKEN``, ``GITHUB_GRAPHQL_URL``.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted

_API = "https://api.github.com/graphql"
_SPEC = re.compile(r"([A-Za-z0-9][\w.-]{0,99})/([\w.-]{1,100})#([1-9][0-9]{0,8})", re.ASCII)
# An answer has a hundred comments of 65,536 characters at most.
_ANSWER_LIMIT, _PAGES = 64 * 1024 * 1024, 50

_LOOK = """\
query Look($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      id
      comments(first: 100, after: $after) {
        nodes { id body viewerDidAuthor }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}"""
_ADD = """\
mutation Add($id: ID!, $body: String!) {
  addComment(input: {subjectId: $id, body: $body}) { clientMutationId }
}"""
_UPDATE = """\
mutation Update($id: ID!, $body: String!) {
  updateIssueComment(input: {id: $id, body: $body}) { clientMutationId }
}"""


def parse(spec: str) -> tuple[str, str, int]:
    """Owner, name and number of OWNER/NAME#N.

    Raises UsageError.
    """
    found = _SPEC.fullmatch(spec)
    if found is None:
        hint = "write it like: --github-pr owner/name#12"
        raise UsageError(f"{quoted(spec)} is not a pull request on GitHub", hint=hint)
    return found[1], found[2], int(found[3])


def post(spec: str, body: str, mark: str, timeout: float) -> str:
    """Say ``body``, which begins with ``mark``, in the pull request: in the last comment of one's own that
    begins so, if there is one, else in a new one. Returns what was done.

    Raises:
        UsageError: no pull request was named, or there is no token.
        UnreadableError: GitHub gave no answer, or refused.
    """
    owner, name, number = parse(spec)
    token = os.environ.get("GITHUB_TOKEN", "")
    if not token.isascii() or not token.isprintable() or not token:
        hint = "give the step GITHUB_TOKEN, of a job with the permission pull-requests: write"
        raise UsageError("there is no token for GitHub", hint=hint)
    subject, ours, after = "", None, None
    for _ in range(_PAGES):
        page = {"owner": owner, "name": name, "number": number, "after": after}
        answer = _ask(_LOOK, page, token, timeout)
        pull = (answer.get("repository") or {}).get("pullRequest")
        if pull is None:
            hint = "check the number, and what the token may see"
            raise UnreadableError(f"{quoted(spec)} is not there", hint=hint)
        subject, comments = pull["id"], pull["comments"]
        for each in comments["nodes"]:
            if each["viewerDidAuthor"] and each["body"].startswith(mark):
                ours = each
        after = comments["pageInfo"]["endCursor"]
        if not comments["pageInfo"]["hasNextPage"]:
            break
    if ours is not None and ours["body"].strip() == body.strip():
        return f"the comment says so already: {spec}"
    if ours is not None:
        _ask(_UPDATE, {"id": ours["id"], "body": body}, token, timeout)
        return f"updated the comment: {spec}"
    _ask(_ADD, {"id": subject, "body": body}, token, timeout)
    return f"posted a comment: {spec}"


def _ask(query: str, variables: dict[str, Any], token: str, timeout: float) -> dict[str, Any]:
    """The ``data`` of the answer to one request. Nothing is tried again: a comment could be there twice."""
    from zoo.remote.address import parse_url
    from zoo.remote.client import httpx, new_client

    url = parse_url(os.environ.get("GITHUB_GRAPHQL_URL") or _API, "GITHUB_GRAPHQL_URL")
    hint = "run it again; the token needs the permission pull-requests: write"
    body = {"query": query, "variables": variables}
    try:
        with (
            new_client() as client,
            client.stream(
                "POST", url, json=body, headers={"Authorization": f"bearer {token}"}, timeout=timeout
            ) as answer,
        ):
            raw = bytearray()
            for chunk in answer.iter_bytes():
                raw += chunk
                if len(raw) > _ANSWER_LIMIT:
                    raise UnreadableError("GitHub answered with too much", hint=hint)
    except httpx.HTTPError as error:
        said = printable(str(error), keep="", limit=200)
        raise UnreadableError(f"GitHub gave no answer: {said}", hint=hint) from None
    if answer.status_code != 200:
        raise UnreadableError(f"GitHub answered {answer.status_code}", hint=hint)
    try:
        document = json.loads(raw)
        refused = document.get("errors")
        data: dict[str, Any] = document["data"]
    except (ValueError, KeyError, AttributeError, RecursionError):
        raise UnreadableError("GitHub gave an answer that cannot be read", hint=hint) from None
    if refused:
        said = printable(str(refused[0].get("message")), keep="", limit=200)
        raise UnreadableError(f"GitHub refused: {said}", hint=hint)
    return data
