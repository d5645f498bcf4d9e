"""What a hub says of versions after their release: a commit of README.md alone on ``main``, and aliases.

An alias is a branch. The Hub's API makes branches and deletes them, and cannot move one. Deleting it and
making it anew leaves a moment, or after a crash a day, in which a server that starts with ``--revision
stable`` finds nothing. So an alias moves by one commit on its branch that makes its files those of the
version, guarded by the commit that it builds on: it is never absent, nobody's commit is lost, and its history
tells where it has been. The large files are not sent again. What proves it is that the two trees are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete
from huggingface_hub.errors import HfHubHTTPError

from zoo.digests import sha256_hex
from zoo.errors import ReleaseRefusedError, TargetUnusableError
from zoo.printable import quoted
from zoo.release import credentials
from zoo.release import manifest as manifests
from zoo.release.paths import SIZE_LIMIT
from zoo.release.targets.hub_client import HubClient
from zoo.release.targets.hub_tree import CARD


@dataclass(frozen=True, slots=True)
class CardCommit:
    """The commit on main whose README.md has this digest; ``changed``: it was made by this run. ``version``
    is the one that main holds."""

    ref: str
    card_sha256: str
    version: str
    changed: bool


class HubVersions:
    """The released versions of the draft ``name`` in ``repo`` at ``endpoint``. ``limit``: seconds for which
    one request is tried again; ``note`` is told of every new try."""

    def __init__(
        self, endpoint: str, name: str, repo: str, limit: float, note: Callable[[str], None]
    ) -> None:
        self._name = name
        self._repo = repo
        self._client = HubClient(endpoint, repo, limit, note)

    def preflight(self) -> None:
        """Make sure that the repository is there and can be written to. Raises TargetUnusableError."""
        client = self._client
        client.check_token()
        if client.head() is None:
            raise TargetUnusableError(
                f"there is no repository {self._repo} at {client.endpoint} that this token may see",
                hint="use a token of a member (HF_TOKEN), or name the hub that it is at: --to",
            )
        client.ask(f"write access to {self._repo}", lambda: client.api.auth_check(self._repo, write=True))

    def change_card(self, title: str, edit: Callable[[str, str], str]) -> CardCommit:
        """Commit the card on main as ``edit`` makes it of the card and the version that are there, unless it
        is so already; no other file changes.

        Raises:
            ReleaseRefusedError: main holds another draft; the card holds a secret; somebody else committed.
            TargetUnusableError: the hub cannot do it.
        """
        return self._client.ask(f"the card of {self._repo}", lambda: self._change_once(title, edit))

    def _change_once(self, title: str, edit: Callable[[str, str], str]) -> CardCommit:
        client = self._client
        head = client.head()
        if head is None:
            raise TargetUnusableError(f"{self._repo} is gone", hint=f"look at {client.endpoint}/{self._repo}")
        version = self._version(head.sha)
        there = client.read(head.sha, CARD, SIZE_LIMIT) or b""
        card = edit(there.decode(errors="replace"), version).encode()
        if card == there:
            return CardCommit(head.sha, sha256_hex(card), version, changed=False)
        if (secret := credentials.find(card)) is not None:
            raise credentials.refusal("the new card", secret)
        client.refuse_card(card.decode())
        before = client.tree(head.sha)
        done = self._commit(title, [CommitOperationAdd(CARD, card)], "main", head.sha)
        self._refuse_other_card(done, card, {path: file for path, file in before.items() if path != CARD})
        return CardCommit(done, sha256_hex(card), version, changed=True)

    def _version(self, sha: str) -> str:
        """The version whose files ``sha`` holds. Raises ReleaseRefusedError: they are not of this draft."""
        raw = self._client.read(sha, manifests.NAME, SIZE_LIMIT)
        manifest = None if raw is None else manifests.parse(raw, f"{self._repo}@{sha[:12]}")
        if manifest is None or manifest.name != self._name:
            what = "no release" if manifest is None else quoted(manifest.name)
            raise ReleaseRefusedError(
                f"main of {self._repo} holds {what}, not {self._name}",
                hint=f"look at {self._client.endpoint}/{self._repo}; what somebody else put there is not "
                "changed",
            )
        return manifest.version

    def _refuse_other_card(self, sha: str, card: bytes, rest: Mapping[str, object]) -> None:
        """Raises ReleaseRefusedError: the commit is not ``card`` and the ``rest``, as a stranger reads it."""
        tree = dict(self._client.tree(sha))
        readme = tree.pop(CARD, None)
        if readme is None or readme.sha256 or self._client.read(sha, CARD, SIZE_LIMIT) != card:
            problem = f"{quoted(CARD)} is not the card that was sent"
        elif tree != rest:
            problem = f"something else than {quoted(CARD)} changed"
        else:
            return
        raise ReleaseRefusedError(
            f"{self._repo} at {sha[:12]}: {problem}",
            hint=f"look at {self._client.endpoint}/{self._repo}/commit/{sha}",
        )

    def point(self, alias: str, tag: str, ref: str) -> str:
        """Let the branch ``alias`` hold exactly the files of ``ref``, which ``tag`` is at. Returns the commit
        that the branch is at.

        Raises:
            ReleaseRefusedError: the tag is elsewhere; the branch holds what is no version of this
                repository; somebody else moved it meanwhile.
        """
        client, tags = self._client, self._client.tags()
        if tags.get(tag) != ref:
            there = tags.get(tag, "")
            raise ReleaseRefusedError(
                f"{tag} of {self._repo} is {f'at {there[:12]}' if there else 'not there'}, and the log says "
                f"{ref[:12]}",
                hint=f"look at {client.endpoint}/{self._repo}/commits/main; a version never moves",
            )
        if alias in tags:
            raise ReleaseRefusedError(
                f"{quoted(alias)} is a tag of {self._repo}", hint="choose another name for the alias"
            )
        wanted = client.tree(ref)
        moved = client.ask(
            f"the branch {alias} of {self._repo}", lambda: self._point_once(alias, ref, wanted, tags)
        )
        if self._branches().get(alias) != moved or client.tree(moved) != wanted:
            raise TargetUnusableError(
                f"{alias} of {self._repo} does not hold the files of {tag} after it was set",
                hint=f"look at {client.endpoint}/{self._repo}/commits/{alias}, then run the same command "
                "again",
            )
        return moved

    def _point_once(self, alias: str, ref: str, wanted: Mapping[str, object], tags: Mapping[str, str]) -> str:
        client = self._client
        head = self._branches().get(alias)
        if head is None:
            client.api.create_branch(self._repo, branch=alias, revision=ref, exist_ok=True)
            head = self._branches().get(alias, "")
            if head == ref:
                return ref
            raise _moved(self._repo, alias)
        there = client.tree(head)
        if there == wanted:
            return head
        if not any(there == client.tree(commit) for commit in dict.fromkeys(tags.values())):
            raise ReleaseRefusedError(
                f"the branch {alias} of {self._repo} holds what is no version (at {head[:12]})",
                hint="somebody committed to it; if nobody needs that, delete the branch, or choose another "
                "alias",
            )
        operations = [
            CommitOperationCopy(path, path, src_revision=ref)
            for path, file in wanted.items()
            if there.get(path) != file
        ]
        doomed = [CommitOperationDelete(path, is_folder=False) for path in there if path not in wanted]
        tag = next(name for name, commit in tags.items() if commit == ref)
        return self._commit(f"{alias} is {tag}", [*operations, *doomed], alias, head)

    def _commit(
        self,
        title: str,
        operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete],
        branch: str,
        parent: str,
    ) -> str:
        try:
            done = self._client.api.create_commit(
                self._repo, operations, commit_message=title, revision=branch, parent_commit=parent
            )
        except HfHubHTTPError as error:
            if error.response.status_code == 412:
                raise _moved(self._repo, branch) from None
            raise
        return str(done.oid)

    def _branches(self) -> Mapping[str, str]:
        """Branch -> commit."""
        refs = self._client.ask(
            f"the branches of {self._repo}", lambda: self._client.api.list_repo_refs(self._repo)
        )
        return {branch.name: branch.target_commit for branch in refs.branches}


def _moved(repo: str, branch: str) -> ReleaseRefusedError:
    return ReleaseRefusedError(
        f"{branch} of {repo} moved while this command ran: somebody else committed",
        hint="nothing was overwritten: run the same command again, and it builds on what is there now",
    )
