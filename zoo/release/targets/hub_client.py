"""Requests to a hub about one repository, through the real client. :meth:`HubClient.ask` is the one place
that tries again; whatever goes wrong is one clear message with the next action."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import tenacity
from huggingface_hub import HfApi, constants, get_token, hf_hub_url
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import build_hf_headers, get_session  # type: ignore[attr-defined]

from zoo import __version__
from zoo.errors import ReleaseRefusedError, TargetUnusableError
from zoo.printable import printable, quoted
from zoo.release.targets.hub_refusals import explained
from zoo.release.targets.hub_session import HubTroubleError, receive, set_up
from zoo.release.targets.hub_tree import Stored

T = TypeVar("T")

# Seconds in which an answer must begin (a commit takes the Hub up to 60); a part of the limit, so that there
# is time for another try.
_PATIENCE, _PART = 120.0, 3
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ENTRY_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Head:
    """A commit of a repository: its ``sha`` (40 hex digits), and how the repository stands."""

    sha: str
    repo: str
    private: bool
    has_metadata: bool


@dataclass(frozen=True, slots=True)
class Refs:
    """Name -> commit."""

    tags: Mapping[str, str]
    branches: Mapping[str, str]


class HubClient:
    """Requests about ``repo`` at ``endpoint``. ``limit``: seconds for which a request is tried again;
    ``note`` is told of every new try."""

    def __init__(self, endpoint: str, repo: str, limit: float, note: Callable[[str], None]) -> None:
        self.endpoint = endpoint
        self.repo = repo
        self.limit = limit
        self._note = note
        self._token = ""
        self._patience = min(_PATIENCE, limit / _PART)
        self._trees: dict[str, Mapping[str, Stored]] = {}
        set_up(endpoint, self._patience)
        self.api = HfApi(endpoint=endpoint, library_name="draft-zoo", library_version=__version__)

    def check_token(self) -> str:
        """The token, as huggingface_hub finds it: trusted publishing, HF_TOKEN, or that of hf auth login.

        Raises TargetUnusableError.
        """
        if constants.is_offline_mode():
            raise TargetUnusableError(
                f"{self.endpoint} cannot be used: HF_HUB_OFFLINE is set", hint="unset it: HF_HUB_OFFLINE"
            )
        token = self.ask("the token", get_token)
        hint = "log in: hf auth login; or set HF_TOKEN; or, in CI, HF_OIDC_RESOURCE for trusted publishing"
        if not token:
            raise TargetUnusableError(f"there is no token for {self.endpoint}", hint=hint)
        if not token.isascii() or not token.isprintable():
            raise TargetUnusableError("the token holds characters that cannot be sent", hint=hint)
        self._token = token
        return token

    def ask(self, what: str, call: Callable[[], T]) -> T:
        """The result of ``call``, which is tried again after trouble: it must look first whether an earlier
        try was applied. ``what`` names it in messages.

        Raises ZooError; OSError about a file of this machine.
        """
        for attempt in self._attempts(what):
            with attempt:
                try:
                    return call()
                except Exception as error:
                    raise explained(what, error, self.endpoint, self.repo, self._token) from None
        raise AssertionError("tenacity raises the last error")

    def _attempts(self, what: str) -> tenacity.Retrying:
        backoff = tenacity.wait_random_exponential(multiplier=0.5, min=0.25, max=30)

        def wait(state: tenacity.RetryCallState) -> float:
            return max(_trouble(state).after, backoff(state))

        def tell(state: tenacity.RetryCallState) -> None:
            seconds = state.next_action.sleep if state.next_action else 0.0
            self._note(f"{_trouble(state).message}; again in {seconds:.1f} s")

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(HubTroubleError),
            stop=tenacity.stop_before_delay(self.limit),
            wait=wait,
            before_sleep=tell,
            reraise=True,
        )

    def head(self, revision: str = "main") -> Head | None:
        """The commit that ``revision`` is, or None if there is no such repository (for this token).

        Raises ReleaseRefusedError: the repository was renamed.
        """

        def look() -> Head | None:
            try:
                info = self.api.model_info(self.repo, revision=revision)
            except RepositoryNotFoundError as error:
                if error.response.status_code == 401:
                    raise
                return None
            sha = str(info.sha)
            if not _COMMIT.fullmatch(sha):
                raise ValueError("not a commit")
            return Head(sha, info.id, bool(info.private), info.card_data is not None)

        head = self.ask(f"{revision} of {self.repo}", look)
        if head is not None and head.repo.lower() != self.repo.lower():
            raise ReleaseRefusedError(
                f"{quoted(self.repo)} was renamed: it is {quoted(head.repo)} now",
                hint="set repo: in the recipe to the new name, then run the command again",
            )
        return head

    def tags(self) -> Mapping[str, str]:
        """Tag -> commit; none if there is no repository."""
        return self.refs().tags

    def refs(self) -> Refs:
        """The tags and branches; none if there is no repository."""

        def look() -> Refs:
            try:
                refs = self.api.list_repo_refs(self.repo)
            except RepositoryNotFoundError as error:
                if error.response.status_code == 401:
                    raise
                return Refs({}, {})
            return Refs(
                {tag.name: tag.target_commit for tag in refs.tags},
                {branch.name: branch.target_commit for branch in refs.branches},
            )

        return self.ask(f"the tags of {self.repo}", look)

    def tree(self, sha: str) -> Mapping[str, Stored]:
        """All files of the commit ``sha``, which never change."""
        if sha not in self._trees:
            self._trees[sha] = self.ask(f"the files of {sha[:12]}", lambda: dict(self._entries(sha)))
        return self._trees[sha]

    def _entries(self, sha: str) -> Iterator[tuple[str, Stored]]:
        for number, entry in enumerate(self.api.list_repo_tree(self.repo, recursive=True, revision=sha)):
            if number >= _ENTRY_LIMIT:
                raise TargetUnusableError(
                    f"{self.repo} has more than {_ENTRY_LIMIT:,} files",
                    hint="that is no release of a draft: use another repo: in the recipe",
                )
            if isinstance(entry, RepoFile):
                sha256 = "" if entry.lfs is None else entry.lfs.sha256
                yield entry.path, Stored(entry.path, entry.size, sha256, entry.blob_id)

    def read(self, sha: str, path: str, limit: int) -> bytes | None:
        """The content of a small file of the commit ``sha``, or None if it is not there."""

        def get() -> bytes | None:
            url = hf_hub_url(self.repo, path, revision=sha, endpoint=self.endpoint)
            with get_session().stream("GET", url, headers=self._headers()) as response:
                if response.status_code == 404:
                    return None
                if response.status_code != 200:
                    page = f"{self.endpoint}/{self.repo}"
                    hidden = response.status_code in (401, 403)
                    raise TargetUnusableError(
                        f"{quoted(path)} of {self.repo}: the hub answered {response.status_code}",
                        hint=f"if it is gated, ask for access on {page}, with the account of the token"
                        if hidden
                        else f"look at {page}",
                    )
                return receive(response, limit, self._patience)

        return self.ask(f"{path} of {sha[:12]}", get)

    def refuse_card(self, text: str) -> None:
        """Let the hub judge the metadata of a card (POST /api/validate-yaml).

        Raises ReleaseRefusedError: it does not accept them.
        """

        def judge() -> list[str]:
            url = f"{self.endpoint}/api/validate-yaml"
            body = {"content": text, "repoType": "model"}
            response = get_session().post(url, json=body, headers=self._headers())
            if response.status_code not in (200, 400):
                raise TargetUnusableError(
                    f"the hub answered {response.status_code} when asked about the card's metadata",
                    hint="check --to, and the token (HF_TOKEN)",
                )
            return [str(error["message"]) for error in response.json().get("errors", [])]

        errors = self.ask("the metadata of README.md", judge)
        if errors:
            raise ReleaseRefusedError(
                f"{self.endpoint} does not accept the metadata of README.md: "
                + printable("; ".join(errors), keep="", limit=300),
                hint="mend what the recipe says of it (license:, base:, tags); see: zoo card NAME --stdout",
            )

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = build_hf_headers(library_name="draft-zoo", library_version=__version__)
        return headers


def _trouble(state: tenacity.RetryCallState) -> HubTroubleError:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, HubTroubleError)  # nothing else is tried again
    return error
