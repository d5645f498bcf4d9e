"""Pull requests of a hub: propose a release, find it again, merge it. Each looks before it acts, because an
earlier try may have been applied although its answer was lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from huggingface_hub.community import DiscussionWithDetails

from zoo.errors import ReleaseRefusedError, TargetUnusableError
from zoo.release.targets.hub_client import HubClient
from zoo.release.targets.hub_commit import ReleaseCommit

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

    Raises ReleaseRefusedError: it is open, and main is not at ``base`` any more, so that nobody can merge it.
    """

    def once() -> tuple[int, str]:
        found = find_proposal(client, release.is_at)
        if found is not None:
            if read_proposal(client, found[0]).parent != base:
                page = f"{client.endpoint}/{client.repo}/discussions/{found[0]}"
                raise ReleaseRefusedError(
                    f"pull request {found[0]} of {client.repo} proposes this release already, on top of a "
                    "main that has moved since, and cannot be merged",
                    hint=f"close it at {page}, then run the same command again",
                )
            return found
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


def find_proposal(client: HubClient, is_ours: Callable[[str], bool]) -> tuple[int, str] | None:
    """The oldest open pull request whose commit ``is_ours``, among the newest ones."""
    refs = client.ask(
        f"the pull requests of {client.repo}",
        lambda: client.api.list_repo_refs(client.repo, include_pull_requests=True),
    )
    # HfApi gives them as refs/pr/N.
    numbered = [(int(each.ref.rpartition("/")[2]), each.target_commit) for each in refs.pull_requests or []]
    for number, commit in sorted(sorted(numbered)[-_NEWEST:]):
        if is_ours(commit) and _details(client, number).status in _OPEN:
            return number, commit
    return None


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
