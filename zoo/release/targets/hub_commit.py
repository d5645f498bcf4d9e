"""One release as one commit of a hub: what goes up before it, whether it is there already, and making it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from huggingface_hub import CommitOperationAdd, CommitOperationDelete
from huggingface_hub.errors import HfHubHTTPError

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.errors import ReleaseRefusedError, TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.release import manifest as manifests
from zoo.release.manifest import Manifest
from zoo.release.paths import SIZE_LIMIT
from zoo.release.targets.hub_client import HubClient
from zoo.release.targets.hub_refusals import moved, taken
from zoo.release.targets.hub_tree import REGULAR_LIMIT, blob_id, first_difference, listed, strays

# Where a commit whose answer was lost is looked for, if others committed after it.
_HISTORY = 20


class ReleaseCommit:
    """The commit that holds exactly ``manifest`` and the ``contents`` that it lists (path -> file or bytes).

    Raises UnreadableError: a file is not what was verified.
    """

    def __init__(self, client: HubClient, manifest: Manifest, contents: Mapping[str, Path | bytes]) -> None:
        self.manifest = manifest
        self.title = f"Release {manifest.name} {manifest.version}"
        self.description = f"manifest sha256 {manifest.sha256}"
        self._client = client
        self._files = listed(manifest)
        self._signed = manifests.SIGNATURE in contents
        self._oids: dict[str, str] = {}
        everything = {**contents, manifests.NAME: manifest.raw}
        self._additions = [self._addition(path, content) for path, content in sorted(everything.items())]
        # Whether a commit was sent; its answer may be lost.
        self.sent = False

    @property
    def nbytes(self) -> int:
        return sum(addition.upload_info.size for addition in self._additions)

    def __len__(self) -> int:
        """The number of files."""
        return len(self._additions)

    def _addition(self, path: str, content: Path | bytes) -> CommitOperationAdd:
        """The operation that adds a file; the client's own sha256 of it is the manifest's."""
        source = str(content) if isinstance(content, Path) else content
        addition = CommitOperationAdd(path_in_repo=path, path_or_fileobj=source)
        wanted, info = self._files.get(path), addition.upload_info
        if wanted is None:  # a signature, which no manifest lists
            return addition
        # The client has no digest of a path yet, and reads the file for it here, once.
        if info.size != wanted.size or info.sha256.hex() != wanted.sha256:
            raise UnreadableError(
                f"{quoted(str(source) if isinstance(content, Path) else path)} changed after it was verified",
                hint="wait until whatever writes it has finished, then run the command again",
            )
        if isinstance(content, bytes):
            self._oids[path] = blob_id(content)
        elif wanted.size <= REGULAR_LIMIT:
            with open_regular(content) as file:
                self._oids[path] = blob_id(read_up_to(file, REGULAR_LIMIT))
        return addition

    def upload(self, *, propose: bool) -> None:
        """Send the large files, to where nobody sees them. What is there already is not sent again."""
        client = self._client
        # The repository's own .gitignore must not decide what a release holds: it leaves files out silently.
        what = "the upload of a pull request to" if propose else "the upload to"
        client.ask(
            f"{what} {client.repo}",
            lambda: client.api.preupload_lfs_files(
                client.repo, self._additions, create_pr=propose, gitignore_content=""
            ),
        )

    def refuse_other(self, base: str) -> None:
        """Raises ReleaseRefusedError: ``base`` holds this very version already, with another checkpoint. It
        has no tag yet, and a run that has not ended will make it, or the next one of that person.

        What the tool itself wrote may differ: a run that was killed is continued at a later commit of git.
        """
        client, ours = self._client, self.manifest
        raw = client.read(base, manifests.NAME, SIZE_LIMIT) if manifests.NAME in client.tree(base) else None
        if raw is None:
            return
        try:
            there = manifests.parse(raw, f"{client.repo}@{base[:12]}")
        except TargetUnusableError:
            return  # of somebody's own; it is replaced, as any other file is
        digest = "checkpoint_digest"
        same_version = (there.name, there.version) == (ours.name, ours.version)
        if same_version and there.document[digest] != ours.document[digest]:
            raise ReleaseRefusedError(
                f"main of {client.repo} holds another checkpoint as {ours.name} {ours.version}, "
                f"without its tag (at {base[:12]}): another release of it is under way, or was stopped there",
                hint="let that one finish, or run it again; or revert its commit, at "
                f"{client.endpoint}/{client.repo}/commits/main, or raise version: in the recipe",
            )

    def operations(self, base: str) -> list[CommitOperationAdd | CommitOperationDelete]:
        """What makes the files of ``base`` those of the release."""
        there = self._client.tree(base)
        doomed = strays(self._files, there)
        if manifests.SIGNATURE in there and not self._signed:
            doomed.append(manifests.SIGNATURE)  # of the version before
        return [
            *self._additions,
            *(CommitOperationDelete(path_in_repo=path, is_folder=False) for path in doomed),
        ]

    def is_at(self, sha: str) -> bool:
        """Whether a commit holds exactly this release. One signature is as good as the other: a run that was
        killed made another one of the same bytes."""
        stored = self._client.tree(sha)
        signed = manifests.SIGNATURE in stored
        return signed == self._signed and first_difference(self._files, stored, self._oids) is None

    def find(self, head: str) -> str:
        """The commit that holds exactly this release: ``head``, or one below it that says so; "" if there is
        none."""
        if self.is_at(head):
            return head
        client = self._client
        commits = client.ask(
            f"the history of {client.repo}",
            lambda: client.api.list_repo_commits(client.repo, revision=head),
        )
        for commit in commits[:_HISTORY]:
            if self.title == commit.title and self.is_at(commit.commit_id):
                return commit.commit_id
        return ""

    def make(self, base: str) -> str:
        """Commit on top of ``base``, once. The commit.

        Raises ReleaseRefusedError: main is not at ``base``.
        """
        return self._client.ask(f"the commit to {self._client.repo}", lambda: self._make_once(base))

    def _make_once(self, base: str) -> str:
        """Look whether the commit is there, and send it if not."""
        client = self._client
        head = client.head()
        sha = "" if head is None else head.sha
        if sha != base and not self.sent:
            raise moved(client.repo)
        if found := self.find(sha):
            return found
        if sha != base:
            raise moved(client.repo)
        tag = f"v{self.manifest.version}"
        if there := client.tags().get(tag):
            raise taken(client.repo, tag, there)
        again, self.sent = self.sent, True
        try:
            done = client.api.create_commit(
                client.repo,
                self.operations(base),
                commit_message=self.title,
                commit_description=self.description,
                parent_commit=base,
            )
        except HfHubHTTPError as error:
            # The hub may have applied the lost one only now.
            if error.response.status_code == 412 and again:
                head = client.head()
                if head is not None and (found := self.find(head.sha)):
                    return found
            raise
        return str(done.oid)
