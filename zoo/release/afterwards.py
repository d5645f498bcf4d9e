"""What is done to versions after their release: withdrawing one, pointing an alias at one, changing a card.

The bytes and the tag of a version never change. Everything may be repeated: what is done already is found,
and not done again; whatever was cut off is finished by the same command.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from zoo.card.notices import notice_of, successor_of, with_notice, with_successor
from zoo.errors import ReleaseRefusedError, UsageError
from zoo.printable import quoted
from zoo.release import credentials, events, record
from zoo.release.record import Entry
from zoo.release.targets.directory import DirectoryTarget
from zoo.release.versions import refuse_yanked
from zoo.workspace import Zoo

Tell = Callable[[str, str], None]

# Shorter values of variables called *TOKEN* are settings (HF_HUB_DISABLE_IMPLICIT_TOKEN=1), not secrets.
_TOKEN_LENGTH = 8


class Place(Protocol):
    """One place where a version was published, as its ``entry`` in the log says."""

    @property
    def entry(self) -> Entry: ...

    def preflight(self) -> None:
        """Raises ZooError: it cannot be changed, or does not hold what the log says."""

    def withdraw(self, zoo: Zoo, name: str, reason: str) -> str:
        """Say there that the version is yanked. Returns what was done, in words."""

    def point(self, alias: str) -> str:
        """Let ``alias`` be the version. Returns what it is there: a commit, a folder."""


@dataclass(frozen=True)
class FolderPlace:
    """A version in a directory target."""

    entry: Entry
    target: DirectoryTarget

    def preflight(self) -> None:
        found = self.target.lookup(self.entry.version)
        if found is None or found.manifest.sha256 != self.entry.manifest_sha256:
            holds = "does not hold it" if found is None else "holds another release under this version"
            raise ReleaseRefusedError(
                f"{self.entry.version} was published at {quoted(self.entry.target)}, which {holds}",
                hint="put it back; or name another place that it was published to: --to",
            )

    def withdraw(self, zoo: Zoo, name: str, reason: str) -> str:
        return self.target.withdraw(self.entry.version, reason)

    def point(self, alias: str) -> str:
        return self.target.point(alias, self.entry.version)


class HubPlace:
    """A version on a hub. ``repo``: where it was published, which the recipe may have left since."""

    def __init__(
        self, entry: Entry, endpoint: str, name: str, repo: str, limit: float, note: Callable[[str], None]
    ) -> None:
        from zoo.release.targets.hub_versions import HubVersions

        self.entry = entry
        self.hub = HubVersions(endpoint, name, repo, limit, note)

    def preflight(self) -> None:
        self.hub.preflight()

    def withdraw(self, zoo: Zoo, name: str, reason: str) -> str:
        text = notice_of(zoo, name)
        return self.change_card(
            zoo, name, f"Yank {self.entry.version}", lambda card, version: with_notice(card, text)
        )

    def point(self, alias: str) -> str:
        return self.hub.point(alias, self.entry.tag, self.entry.ref)

    def change_card(self, zoo: Zoo, name: str, title: str, edit: Callable[[str, str], str]) -> str:
        """Change the card on main and record it."""
        done = self.hub.change_card(title, edit)
        last = [event for event in events.events(zoo, name) if isinstance(event, events.CardChanged)]
        ours = [event for event in last if event.target == self.entry.target]
        if done.changed or not ours or ours[-1].card_sha256 != done.card_sha256:
            changed = events.CardChanged(done.version, self.entry.target, done.ref, done.card_sha256)
            events.append(zoo, name, changed)
        if not done.changed:
            return f"the card on main says so (commit {done.ref})"
        return f"the card on main says so now (commit {done.ref}); tags and other files are as they were"


def entries_of(zoo: Zoo, spec: str, first: str = "") -> tuple[str, str, list[Entry]]:
    """Name, version and publications, one per target, of ``spec``, NAME@VERSION. ``first``: what to do where
    there are none, instead of the versions that there are.

    Raises UsageError: it was never published.
    """
    from zoo.recipe.names import is_name

    name, _, version = spec.partition("@")
    published = record.published(zoo, name) if is_name(name) else ()
    last = {entry.target: entry for entry in published if entry.version == version}
    if not last:
        known = ", ".join(dict.fromkeys(f"{name}@{entry.version}" for entry in published))
        hint = f"released are: {known}" if known else "nothing of this name was released; see: zoo list"
        raise UsageError(f"there is no release {quoted(spec)} in this zoo", hint=first or hint)
    return name, version, list(last.values())


def repo_of(zoo: Zoo, name: str, entry: Entry) -> str:
    """The repository that a version was published to, as its recorded manifest says.

    Raises ReleaseRefusedError: the manifest is not the one that was published, or is not there.
    """
    manifest = record.manifest_of(zoo, name, entry.version)
    if manifest is None or manifest.sha256 != entry.manifest_sha256:
        raise record.lost(zoo, name, entry)
    return str(manifest.document["repo"])


def yank(zoo: Zoo, name: str, version: str, reason: str, places: Sequence[Place], tell: Tell) -> None:
    """Withdraw a version: first in the log, so that this zoo warns at once, then at ``places``. An empty
    ``reason`` repeats an earlier yank.

    Raises:
        UsageError: there is no reason, or none that can be shown.
        ReleaseRefusedError: it is yanked for another reason; a place refuses.
    """
    before = events.withdrawn(zoo, name).get(version)
    if before is None and not reason:
        raise UsageError(f"why is {name} {version} yanked?", hint='add --reason "what is wrong with it"')
    if before is not None and reason not in ("", before):
        raise ReleaseRefusedError(
            f"{name} {version} is yanked already, for another reason: {before}",
            hint="the log is append-only and that reason stands; to say it again elsewhere: "
            f"zoo yank {name}@{version} --push",
        )
    reason = before or reason
    if not events.is_reason(reason):
        raise UsageError(
            "the reason is no line that can be shown",
            hint=f"write one line of at most {events.REASON_LIMIT} characters, without control characters",
        )
    if (secret := credentials.find(reason.encode(), _tokens())) is not None:
        raise UsageError(
            f"the reason holds {secret}",
            hint="say it without; and revoke it: the history of the shell has it by now",
        )
    for place in places:
        place.preflight()
    log = f"{zoo.shown(zoo.release_folder(name))}/log.jsonl"
    added = events.append(zoo, name, events.Yanked(version, reason))
    tell("log", f"{log} says so{' now, ready for git' if added else ''}")
    for place in places:
        tell(place.entry.target, place.withdraw(zoo, name, reason))


def _tokens() -> list[str]:
    """The tokens of this process and this user, whatever their shape: the log is for git, and the card for
    everybody."""
    from huggingface_hub import get_token

    known = [value for name, value in os.environ.items() if "TOKEN" in name and len(value) >= _TOKEN_LENGTH]
    # A token that would be minted for this run (trusted publishing) is one that nobody could have typed.
    if not os.environ.get("HF_OIDC_RESOURCE"):
        known.append(get_token() or "")
    return [token for token in known if token]


def promote(zoo: Zoo, name: str, version: str, alias: str, places: Sequence[Place], tell: Tell) -> None:
    """Point ``alias`` at a version, at all ``places``, and record it.

    Raises:
        UsageError: ``alias`` cannot be the name of one.
        ReleaseRefusedError: the version is yanked; a place refuses.
    """
    if not events.is_alias(alias):
        raise UsageError(
            f"{quoted(alias)} cannot be an alias",
            hint="small letters, digits and hyphens, beginning with a letter, e.g. stable; not main, and "
            "nothing that looks like a version or a commit",
        )
    refuse_yanked(zoo, name, version, "promoted")
    for place in places:
        place.preflight()
    for place in places:
        entry = place.entry
        ref = place.point(alias)
        before = events.aliases(zoo, name).get((entry.target, alias))
        added = events.append(zoo, name, events.Aliased(alias, version, entry.target, ref))
        was = f", was {before.version}" if before is not None and before.version != version else ""
        tell(entry.target, f"{alias} is {version}{was} ({ref})" if added else f"{alias} is {version} already")


def push_card(zoo: Zoo, name: str, card: str, place: HubPlace, tell: Tell) -> None:
    """Put ``card`` on main, in a commit of README.md alone, while main holds the version of ``place``."""
    place.preflight()

    def edit(there: str, version: str) -> str:
        if version != place.entry.version:
            raise ReleaseRefusedError(
                f"main holds {version}, and the card is that of {place.entry.version}",
                hint=f"release the version that the recipe states: zoo release {name} --push",
            )
        return with_successor(card, successor_of(there))

    said = place.change_card(zoo, name, f"Card of {name} {place.entry.version}", edit)
    tell(place.entry.target, said)


def supersede(zoo: Zoo, name: str, old: str, new: str, place: HubPlace, tell: Tell) -> None:
    """Let the card of ``old``, an earlier repository of this draft, name ``new`` as the newer version.
    ``place`` is a version that was published to ``old``."""
    place.preflight()
    done = place.hub.change_card(f"Superseded by {new}", lambda card, version: with_successor(card, new))
    added = events.append(zoo, name, events.Superseded(old, new, place.entry.target, done.ref))
    said = "names" if not (done.changed or added) else "names now"
    tell(place.entry.target, f"the card of {old} {said} {new} as the newer version (commit {done.ref})")


def entry_in(zoo: Zoo, name: str, repo: str, target: str) -> Entry:
    """The last version that was published to ``repo`` at ``target``.

    Raises UsageError: none was.
    """
    for entry in reversed(record.published(zoo, name)):
        if entry.target == target and repo_of(zoo, name, entry) == repo:
            return entry
    raise UsageError(
        f"no version of {name} was published to {quoted(repo)} at {quoted(target)}",
        hint=f"see: zoo history {name}",
    )
