"""What went wrong with a hub, for the person who releases: what happened, and what to do next. An answer that
stops a release has words of its own; none of them shows the token."""

from __future__ import annotations

from huggingface_hub.errors import HfHubHTTPError, OIDCError

from zoo.errors import ReleaseRefusedError, TargetUnusableError, ZooError
from zoo.printable import printable
from zoo.release.targets.hub_session import LfsRefusedError

# What reading an answer raises that is not that of a hub.
_STRANGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def explained(what: str, error: BaseException, endpoint: str, repo: str, token: str) -> BaseException:
    """``error``, or the one that caused it, as a message. ``what`` was asked for. What is not about the hub
    (a file of this machine, a fault of the tool) is left as it is."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__
    for each in chain:
        if isinstance(each, ZooError):
            return each
        if isinstance(each, (HfHubHTTPError, LfsRefusedError)):
            if isinstance(each, LfsRefusedError):
                status, said = each.status, each.said
            else:
                status, said = each.response.status_code, each.server_message or ""
            said = said.replace(token, "(the token)") if token else said
            return refusal(what, status, said, endpoint, repo)
    if isinstance(error, OIDCError):
        return TargetUnusableError(
            f"trusted publishing gave no token: {printable(str(error), keep='', limit=200)}",
            hint="see HF_OIDC_RESOURCE, and the trusted publishers in the settings of the repository",
        )
    if isinstance(error, _STRANGE):
        return TargetUnusableError(
            f"{what}: the answer of {endpoint} is not that of a hub ({type(error).__name__})",
            hint="check --to: it must be the address of a hub",
        )
    return error


# What may find that the branch is not where it was; of anything else, 412 has no such meaning.
_COMMITS = ("the commit", "the card", "the pull request", "the merge")


def refusal(what: str, status: int, said: str, endpoint: str, repo: str) -> ZooError:
    """The error that an answer of ``status`` (4xx) is; ``said`` is what the hub gives as a reason."""
    said = f": {printable(said, keep='', limit=200)}" if said else ""
    page = f"{endpoint}/{repo}"
    match status:
        case 401:
            return TargetUnusableError(
                f"{what}: {endpoint} does not accept the token (401){said}",
                hint="log in again: hf auth login; or set HF_TOKEN to a token of a member of "
                f"{repo.partition('/')[0]}",
            )
        case 402:
            return TargetUnusableError(
                f"{what}: the quota of the account is used up (402){said}", hint=f"see {page}/settings"
            )
        case 403:
            return TargetUnusableError(
                f"{what}: the token may not do this (403){said}", hint=_more_rights(what, repo)
            )
        case 404:
            return TargetUnusableError(
                f"{what}: {endpoint} has none, or hides it from this token (404){said}",
                hint="check repo: in the recipe; a private repository needs a member's token",
            )
        case 507:
            return TargetUnusableError(
                f"{what}: {endpoint} has no space left (507){said}",
                hint="make space there, then run the same command again",
            )
        case 409:
            return ReleaseRefusedError(
                f"{what}: it is in the way of something that is there (409){said}",
                hint=f"look at {page}, then run the same command again",
            )
        case 412 if what.startswith(_COMMITS):
            return moved(repo, said)
        case 413:
            return TargetUnusableError(
                f"{what}: it is too large for {endpoint} (413){said}",
                hint="a proxy in front of the hub may have a limit: raise it",
            )
        case _:
            return TargetUnusableError(
                f"{what}: {endpoint} refuses it ({status}){said}", hint=f"look at {page}"
            )


def _more_rights(what: str, repo: str) -> str:
    """Which token to use instead. A pull request needs one that may write, of anybody who sees the
    repository."""
    if what.startswith("the merge"):
        return f"use a token that may write to {repo}"
    if "pull request" in what:
        return (
            "use a token with the role write (HF_TOKEN): one that may only read proposes nothing; it may be "
            f"of anybody who can see {repo}"
        )
    return f"use a token that may write to {repo}, or propose the release: --pr"


def taken(repo: str, tag: str, there: str, ours: str = "") -> ReleaseRefusedError:
    """The error for a version that appeared, at the commit ``there``, after the release was planned."""
    where = f"{there[:12]} and not at {ours[:12]}" if ours else there[:12]
    return ReleaseRefusedError(
        f"{tag} of {repo} was published by somebody else while this release ran, at {where}",
        hint="run the command again: if the bytes are the same there is nothing left to do",
    )


def moved(repo: str, said: str = "") -> ReleaseRefusedError:
    """The error for a branch that is not where it was when the release was planned."""
    return ReleaseRefusedError(
        f"main of {repo} moved while this release ran (412){said}: somebody else committed",
        hint="nothing was overwritten: run the same command again, and it builds on what is there now",
    )
