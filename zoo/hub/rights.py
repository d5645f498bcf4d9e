"""Who may do what with a repository. Each function gives the repository, or says no as the Hub does.

* read: everybody, or the members of a private repository's owner;
* the content of a gated repository: its members;
* contribute (upload files, open discussions and pull requests): every user who may read, with a write token;
* write: members with a write token.
"""

from __future__ import annotations

from zoo.hub.errors import HubError, forbidden, no_repository
from zoo.hub.http import Call
from zoo.hub.repo import Repo
from zoo.hub.users import Identity


def signed_in(call: Call) -> Identity:
    """The user. Raises HubError 401 for a stranger."""
    if call.user is None:
        raise HubError(401, "Invalid username or password.")
    return call.user


def is_member(call: Call, repo: Repo) -> bool:
    return call.user is not None and call.user.belongs_to(repo.owner)


def readable(call: Call) -> Repo:
    """The repository that the path names. Raises HubError 401 or 404."""
    repo = call.hub.repo(call.path["owner"], call.path["name"])
    if repo is None or (repo.settings().private and not is_member(call, repo)):
        raise no_repository(call.user is not None)
    return repo


def downloadable(call: Call) -> Repo:
    """The repository, if its files may be read too. Raises HubError, 401 or 403 if it is gated."""
    repo = readable(call)
    if repo.settings().gated and not is_member(call, repo):
        message = f"Access to model {repo.id} is restricted: ask {repo.owner} for access."
        raise HubError(401 if call.user is None else 403, message, code="GatedRepo")
    return repo


def contributable(call: Call) -> tuple[Repo, Identity]:
    """The repository and the user. Raises HubError."""
    repo = readable(call)
    user = signed_in(call)
    check_write_token(user)
    return repo, user


def writable(call: Call) -> tuple[Repo, Identity]:
    """The repository and the user, who may change it. Raises HubError."""
    repo, user = contributable(call)
    if not user.belongs_to(repo.owner):
        raise forbidden(f"{user.name} is not a member of {repo.owner}, and may open pull requests only")
    return repo, user


def owned_namespace(call: Call, owner: str) -> Identity:
    """The user, who may make and delete repositories of ``owner``. Raises HubError."""
    user = signed_in(call)
    check_write_token(user)
    if not user.belongs_to(owner):
        raise forbidden(f"{user.name} has no rights to the namespace {owner[:100]}")
    return user


def check_write_token(user: Identity) -> None:
    if user.role != "write":
        raise forbidden("This token may read only: use one that may write")
