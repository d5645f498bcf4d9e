"""Pull requests of a hub: propose a release, find it again, merge it. Each looks before it acts, because an
earlier try may have been applied although its answer was lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from huggingface_hub.community import DiscussionWithDetails

from zoo.errors import ReleaseRefusedError, TargetUnusableError
from zoo.release import manifest as manifests
from zoo.release.manifest import Manifest
from zoo.release.paths import SIZE_LIMIT
from zoo.release.targets.hub_client import HubClient
from zoo.release.targets.hub_commit import ReleaseCommit
from zoo.release.targets.hub_session import HubTroubleError

# The newest pull requests, among which ours is looked for.
_NEWEST = 20
_OPEN, CLOSED = ("open", "draft"), "closed"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pull request: its ``status`` (open, draft, merged, closed), the commit at its head, the one below it,
    and the commit on main that merging it made, or ""."""

    status: str
    head: str
    parent: str
    merged_as: str


def propose(client: HubClient, base: str, release: ReleaseCommit) -> tuple[int, str]:
    """Open a pull request with one commit on top of ``base``, unless one is open that holds ``release``. Its
    number and its commit.

    Raises ReleaseRefusedError: it is open, and main is not at ``base`` any more, so that nobody can merge it;
    or one is open with other files as this version.
    """

    def once() -> tuple[int, str]:
        known = _newest(client)
        found = _first_open(client, known, release.is_at)
        if found is not None:
            if read_proposal(client, found[0]).parent != base:
                page = f"{client.endpoint}/{client.repo}/discussions/{found[0]}"
                raise ReleaseRefusedError(
                    f"pull request {found[0]} of {client.repo} proposes this release already, on top of a "
                    "main that has moved since, and cannot be merged",
                    hint=f"close it at {page}, then run the same command again",
                )
            return found
        other = _first_open(client, known, lambda commit: _is_same_version(client, commit, release.manifest))
        if other is not None:
            raise second(client, other[0], f"{release.manifest.name} {release.manifest.version}")
        done = client.api.create_commit(
            client.repo,
            release.operations(base),
            commit_message=release.title,
            commit_description=release.description,
            parent_commit=base,
            create_pr=True,
        )
        assert done.pr_num is not None  # create_pr
        return done.pr_num, str(done.oid)

    return client.ask(f"the pull request to {client.repo}", once)


def second(client: HubClient, number: int, label: str) -> ReleaseRefusedError:
    """The error for another release of the version ``label`` while the pull request ``number`` is open: of
    the two, only one could be merged."""
    return ReleaseRefusedError(
        f"pull request {number} of {client.repo} is open, and proposes {label} with other files",
        hint=f"close it at {client.endpoint}/{client.repo}/discussions/{number}, then run the same command "
        "again; or raise version: in the recipe, and propose that",
    )


def is_open(client: HubClient, number: int) -> bool:
    return _details(client, number).status in _OPEN


def _newest(client: HubClient) -> list[tuple[int, str]]:
    """Number and commit of the newest pull requests, the oldest of them first."""
    refs = client.ask(
        f"the pull requests of {client.repo}",
        lambda: client.api.list_repo_refs(client.repo, include_pull_requests=True),
    )
    # HfApi gives them as refs/pr/N.
    numbered = [(int(each.ref.rpartition("/")[2]), each.target_commit) for each in refs.pull_requests or []]
    return sorted(numbered)[-_NEWEST:]


def _first_open(
    client: HubClient, known: list[tuple[int, str]], is_wanted: Callable[[str], bool]
) -> tuple[int, str] | None:
    """The first open pull request of ``known`` whose commit ``is_wanted``."""
    for number, commit in known:
        if is_wanted(commit) and is_open(client, number):
            return number, commit
    return None


def _is_same_version(client: HubClient, commit: str, ours: Manifest) -> bool:
    """Whether ``commit`` holds a manifest of the version of ``ours``."""
    if manifests.NAME not in client.tree(commit):
        return False
    try:
        raw = client.read(commit, manifests.NAME, SIZE_LIMIT)
        there = manifests.parse(raw or b"", manifests.NAME)
    except HubTroubleError:
        raise
    except TargetUnusableError:  # of somebody's own making
        return False
    return (there.name, there.version) == (ours.name, ours.version)


def read_proposal(client: HubClient, number: int) -> Proposal:
    """The pull request ``number`` as it is now."""
    details = _details(client, number)
    commits = client.ask(
        f"the commits of pull request {number}",
        lambda: client.api.list_repo_commits(client.repo, revision=f"refs/pr/{number}"),
    )
    oids = [commit.commit_id for commit in commits[:2]]
    if len(oids) < 2:
        raise TargetUnusableError(
            f"pull request {number} of {client.repo} has no commit of its own",
            hint=f"look at {client.endpoint}/{client.repo}/discussions/{number}",
        )
    return Proposal(details.status, oids[0], oids[1], details.merge_commit_oid or "")


def merge(client: HubClient, number: int) -> str:
    """Merge the pull request ``number``, unless it is merged; the commit on main that this made."""

    def once() -> str:
        status = read_proposal(client, number)
        if status.merged_as:
            return status.merged_as
        if status.status == "draft":
            client.api.change_discussion_status(client.repo, number, "open")
        elif status.status != "open":
            raise ReleaseRefusedError(
                f"pull request {number} of {client.repo} is {status.status}",
                hint="propose the release again: zoo release NAME --push --pr",
            )
        client.api.merge_pull_request(client.repo, number)
        return read_proposal(client, number).merged_as

    merged = client.ask(f"the merge of pull request {number} of {client.repo}", once)
    if not merged:
        raise TargetUnusableError(
            f"pull request {number} of {client.repo} was merged, and the hub does not say as which commit",
            hint="run the same command again",
        )
    return merged


def _details(client: HubClient, number: int) -> DiscussionWithDetails:
    return client.ask(
        f"pull request {number} of {client.repo}",
        lambda: client.api.get_discussion_details(client.repo, number),
    )
