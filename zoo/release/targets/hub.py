"""A hub as publishing target: ``hf`` (huggingface.co), or the address of another one.

A version is one commit on ``main``, made on top of what ``preflight`` saw, whose files are exactly those of
the manifest; and a tag ``vVERSION`` at that commit, made last and never moved. Large files go up before the
commit, to where nobody sees them. Whether a request was applied whose answer was lost is seen by looking at
what the hub holds; nothing is sent again without that look.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from huggingface_hub.errors import HfHubHTTPError

from zoo.errors import ReleaseRefusedError, TargetUnusableError
from zoo.printable import quoted
from zoo.release import manifest as manifests
from zoo.release.manifest import Manifest
from zoo.release.paths import SIZE_LIMIT
from zoo.release.targets import Published
from zoo.release.targets.hub_client import Head, HubClient
from zoo.release.targets.hub_commit import ReleaseCommit
from zoo.release.targets.hub_options import HubOptions
from zoo.release.targets.hub_proposal import CLOSED, is_open, merge, propose, read_proposal, second
from zoo.release.targets.hub_read_back import altered, read_back
from zoo.release.targets.hub_refusals import taken
from zoo.release.targets.hub_tree import ATTRIBUTES


class HubTarget:
    """The releases of the draft ``name`` in ``repo`` at ``endpoint``. ``spec`` is what the log says: ``hf``,
    or the endpoint."""

    def __init__(self, endpoint: str, spec: str, name: str, repo: str, options: HubOptions) -> None:
        self.spec = spec
        self.pull_request = 0
        self._name = name
        self._repo = repo
        self._options = options
        self._client = HubClient(endpoint, repo, options.limit, options.note)
        self._head: Head | None = None
        self._commit: ReleaseCommit | None = None
        # Commit -> the manifest that was read back there; a commit never changes.
        self._manifests: dict[str, Manifest] = {}
        # Whether this run looked for the tag right before its commit, and it was nowhere.
        self._untagged = False

    def preflight(self, nbytes: int) -> str:
        """See :class:`~zoo.release.targets.PublishingTarget`. The base is the commit that main is at, or ""
        where the repository is still to be made."""
        api, client = self._client.api, self._client
        client.check_token()
        self._head = client.head()
        if self._head is None:
            self._refuse_uncreatable()
            return ""
        write = not self._options.propose
        client.ask(
            f"write access to {self._repo}" if write else f"access to {self._repo} for a pull request",
            lambda: api.auth_check(self._repo, write=write),
        )
        self._refuse_public(self._head)
        return self._head.sha

    def _refuse_uncreatable(self) -> None:
        """Raises if the token's user may not make the repository; who they are is all that a hub tells."""
        if self._options.propose:
            raise TargetUnusableError(
                f"there is no repository {self._repo} at {self._client.endpoint} to propose anything to",
                hint="ask its owner to make it, or release without --pr",
            )
        who = self._client.ask("the user of the token", self._client.api.whoami)
        own = {str(who.get("name", "")), *(str(org.get("name", "")) for org in who.get("orgs", []))}
        owner = self._repo.partition("/")[0]
        if owner.lower() not in {each.lower() for each in own}:
            raise TargetUnusableError(
                f"there is no repository {self._repo} at {self._client.endpoint} that this token may see, "
                f"and its user is not a member of {quoted(owner)} to make one",
                hint="use a token of a member, or set repo: in the recipe to a repository of your own",
            )

    def _refuse_public(self, head: Head) -> None:
        if self._options.private and not head.private:
            raise ReleaseRefusedError(
                f"{self._repo} is public, and the release was asked to be private",
                hint=f"make it private at {self._page}/settings, or leave --private out",
            )

    def lookup(self, version: str) -> Published | None:
        self._client.check_token()
        tag = self.label(version)
        refs = self._client.refs()
        ref = refs.tags.get(tag)
        if ref is None:
            if tag in refs.branches:
                raise ReleaseRefusedError(
                    f"{tag} of {self._repo} is a branch, and the tag of this version cannot have its name",
                    hint=f"delete that branch, or rename it: {self._page}/tree/{tag}",
                )
            return None
        raw = self._client.read(ref, manifests.NAME, SIZE_LIMIT)
        place = f"{tag} of {self._repo}"
        if raw is None:
            raise TargetUnusableError(
                f"{place} is a tag already (at {ref[:12]}), and no release: there is no {manifests.NAME}",
                hint=f"look at {self._page}/tree/{tag}; raise version: in the recipe and release that",
            )
        manifest = manifests.parse(raw, place)
        if (manifest.name, manifest.version) != (self._name, version):
            raise TargetUnusableError(
                f"{place} holds {quoted(f'{manifest.name} {manifest.version}')}",
                hint="another draft was released to this repository: set another repo: in the recipe",
            )
        return Published(ref, manifest)

    def accept_card(self, card: bytes) -> None:
        self._client.refuse_card(card.decode())

    def upload(self, manifest: Manifest, files: Mapping[str, Path | bytes]) -> str:
        self._commit = ReleaseCommit(self._client, manifest, files)
        made = self._make_repository()
        assert self._head is not None  # it is there by now
        self._commit.refuse_other(self._head.sha)
        self._commit.upload(propose=self._options.propose)
        return f"{len(self._commit)} files, {self._commit.nbytes:,} bytes, of which nobody sees any yet{made}"

    def _make_repository(self) -> str:
        """Make the repository if it is not there, and gate it. Nobody but its owners sees a new one."""
        api, made = self._client.api, ""
        if self._head is None:
            self._client.ask(
                f"the new repository {self._repo}",
                lambda: api.create_repo(self._repo, private=True, exist_ok=True),
            )
            self._head = self._client.head()
            if self._head is None:
                raise TargetUnusableError(
                    f"{self._repo} was made at {self._client.endpoint}, and cannot be seen",
                    hint="run the same command again",
                )
            self._refuse_public(self._head)
            made = f"; {self._repo} is new and private"
        if self._options.gated:
            self._client.ask(
                f"the gate of {self._repo}",
                lambda: api.update_repo_settings(self._repo, gated=self._options.gated),  # type: ignore[arg-type]
            )
            made += f"; gated ({self._options.gated})"
        return made

    def commit(self, base: str) -> str:
        release = self._commit
        assert release is not None, "upload comes first"
        if not self._options.propose:
            ref = release.make(base or self._first_commit(release))
            self._untagged = release.sent
            return ref
        if release.is_at(base):
            raise ReleaseRefusedError(
                f"main of {self._repo} holds exactly this release already",
                hint=f"tag it: zoo merge {self._name}@{release.manifest.version}, or release without --pr",
            )
        self.pull_request, ref = propose(self._client, base, release)
        return ref

    def _first_commit(self, release: ReleaseCommit) -> str:
        """The commit that a new repository begins with."""
        assert self._head is not None  # upload made the repository
        if set(self._client.tree(self._head.sha)) - {ATTRIBUTES} and not release.find(self._head.sha):
            raise ReleaseRefusedError(
                f"somebody else made {self._repo} while this release ran, and put files into it",
                hint="run the same command again, if the repository is yours",
            )
        return self._head.sha

    def read_back(self, ref: str) -> Manifest:
        self._manifests[ref] = read_back(self._client, ref, published=not self.pull_request)
        return self._manifests[ref]

    def fetch(self, ref: str, path: str) -> bytes:
        content = self._client.read(ref, path, SIZE_LIMIT)
        if content is None:
            raise altered(self._client, ref, f"{quoted(path)} is missing")
        return content

    @property
    def secrets(self) -> tuple[str, ...]:
        return (self._client.check_token(),)

    def label(self, version: str) -> str:
        return f"v{version}"

    def tag(self, ref: str) -> str:
        manifest = self._manifests.get(ref)
        if manifest is None:
            manifest = manifests.parse(self.fetch(ref, manifests.NAME), self.show(ref))
        tag, sha256 = self.label(manifest.version), manifest.sha256
        self._client.ask(f"the tag {tag}", lambda: self._tag_once(tag, ref, sha256))
        there = self._client.tags().get(tag)
        if there != ref:
            raise TargetUnusableError(
                f"{tag} of {self._repo} is not at {ref[:12]} after it was made (at {str(there)[:12]})",
                hint=f"look at {self._page}/tree/{tag}, then run the same command again",
            )
        return ref

    def _tag_once(self, tag: str, ref: str, manifest_sha256: str) -> None:
        """Look where the tag is, and make it if it is nowhere. One that is elsewhere is never moved."""
        there = None if self._untagged else self._client.tags().get(tag)
        self._untagged = False
        if there is None:
            try:
                self._client.api.create_tag(
                    self._repo, tag=tag, revision=ref, tag_message=f"manifest sha256 {manifest_sha256}"
                )
            except HfHubHTTPError as error:
                if error.response.status_code != 409:
                    raise
                there = self._client.tags().get(tag)
        if there not in (None, ref):
            raise taken(self._repo, tag, str(there), ref)

    def finish(self) -> str:
        if not self._options.public_when_done:
            return ""
        head = self._client.head()
        if head is not None and not head.private:
            return f"{self._repo} is public"
        api = self._client.api
        self._client.ask(
            f"the visibility of {self._repo}", lambda: api.update_repo_settings(self._repo, private=False)
        )
        return f"{self._repo} is public now"

    def show(self, ref: str) -> str:
        if self.pull_request:
            return f"{self._page}/discussions/{self.pull_request}"
        commit, _, path = ref.partition("/")
        return f"{self._page}/blob/{commit}/{path}" if path else f"{self._page}/tree/{ref}"

    def abandon(self) -> None:
        """Nothing is visible that was not committed, and a commit without a tag is found by the next run."""

    def check_proposal(self, number: int, base: str, manifest: Manifest) -> str:
        """Make sure that the pull request ``number`` is one commit on ``base`` with exactly the files of
        ``manifest``; one that is merged is compared as what it became. Returns what was proved.

        Raises ReleaseRefusedError.
        """
        proposal = read_proposal(self._client, number)
        if proposal.merged_as:
            return f"pull request {number} is merged already, as {proposal.merged_as}"
        self.pull_request = number
        try:
            if proposal.parent != base:
                raise ReleaseRefusedError(
                    f"pull request {number} of {self._repo} is not one commit on top of main as it is now",
                    hint=f"close it, and propose the release again: zoo release {self._name} --push --pr",
                )
            self.refuse_other(proposal.head, manifest)
        finally:
            self.pull_request = 0
        return f"pull request {number} is one commit on main, with the {len(manifest.files)} files proposed"

    def proposed(self, number: int) -> Published | None:
        """What the pull request ``number`` holds, unless it was closed or holds no release."""
        proposal = read_proposal(self._client, number)
        raw = self._client.read(proposal.head, manifests.NAME, SIZE_LIMIT)
        if raw is None or proposal.status == CLOSED:
            return None
        return Published(proposal.head, manifests.parse(raw, f"pull request {number} of {self._repo}"))

    def second_proposal(self, number: int, label: str) -> ReleaseRefusedError | None:
        return second(self._client, number, label) if is_open(self._client, number) else None

    def merge_proposal(self, number: int) -> str:
        """Merge the pull request ``number``; the commit that this made."""
        return merge(self._client, number)

    def refuse_other(self, ref: str, manifest: Manifest) -> None:
        """Raises ReleaseRefusedError: ``ref`` does not hold exactly ``manifest`` and its files."""
        if self.read_back(ref).raw != manifest.raw:
            other = f"{quoted(manifests.NAME)} is another one than the one recorded"
            raise altered(self._client, ref, other)

    @property
    def _page(self) -> str:
        return f"{self._client.endpoint}/{self._repo}"
