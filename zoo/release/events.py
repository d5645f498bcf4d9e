"""What happens to versions after their release, as lines of ``release/NAME/log.jsonl``.

The log is append-only: a state (what is withdrawn, where an alias points) is the last event about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from zoo.errors import UnreadableError
from zoo.recipe.names import is_name
from zoo.release.log import append_line, is_version, read_log, versions
from zoo.release.paths import refuse_links
from zoo.workspace import Zoo

# Kept to one line of a card and of a terminal.
REASON_LIMIT = 300
# An alias is a branch: it must not pass for a version, a commit or a branch that is there anyway.
_ALIAS = re.compile(r"(?!v?\d)[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_COMMIT_LIKE = re.compile(r"[0-9a-f]{7,}")
_TAKEN = ("main", "master", "head", "refs")
_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Yanked:
    """A version was withdrawn. Its bytes and its tag stay."""

    version: str
    reason: str

    event: ClassVar[str] = "yanked"

    @property
    def about(self) -> tuple[str, ...]:
        return (self.event, self.version)


@dataclass(frozen=True, slots=True)
class Aliased:
    """An ``alias`` was pointed at a version; ``ref`` is what it is at ``target`` (a commit, a folder)."""

    alias: str
    version: str
    target: str
    ref: str

    event: ClassVar[str] = "aliased"

    @property
    def about(self) -> tuple[str, ...]:
        return (self.event, self.target, self.alias)


@dataclass(frozen=True, slots=True)
class CardChanged:
    """The card on main of a hub was changed by a commit of README.md alone, when ``version`` was there."""

    version: str
    target: str
    ref: str
    card_sha256: str

    event: ClassVar[str] = "card"

    @property
    def about(self) -> tuple[str, ...]:
        return (self.event, self.target)


@dataclass(frozen=True, slots=True)
class Superseded:
    """The card of an earlier repository of this draft says that ``by`` replaces it."""

    repo: str
    by: str
    target: str
    ref: str

    event: ClassVar[str] = "superseded"

    @property
    def about(self) -> tuple[str, ...]:
        return (self.event, self.target, self.repo)


Event = Yanked | Aliased | CardChanged | Superseded
_KINDS: Mapping[str, type[Event]] = {kind.event: kind for kind in (Yanked, Aliased, CardChanged, Superseded)}


def is_alias(word: object) -> bool:
    """Whether ``word`` can name an alias."""
    return (
        isinstance(word, str)
        and len(word) <= 40
        and _ALIAS.fullmatch(word) is not None
        and not _COMMIT_LIKE.fullmatch(word)
        and word not in _TAKEN
    )


def is_reason(text: object) -> bool:
    """Whether ``text`` is a reason: one line that a person can read."""
    return (
        isinstance(text, str)
        and text == text.strip() != ""
        and text.isprintable()
        and len(text) <= REASON_LIMIT
    )


def is_repo(text: object) -> bool:
    """Whether ``text`` is OWNER/NAME."""
    return isinstance(text, str) and len(text) <= 200 and _REPO.fullmatch(text) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 4096


_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "version": is_version,
    "reason": is_reason,
    "alias": is_alias,
    "target": _is_text,
    "ref": _is_text,
    "card_sha256": lambda value: isinstance(value, str) and _SHA256.fullmatch(value) is not None,
    "repo": is_repo,
    "by": is_repo,
}


def raw_events(zoo: Zoo, name: str) -> tuple[dict[str, Any], ...]:
    """All lines of the log of ``name``, oldest first; none if that cannot be the name of a draft.

    Raises:
        ReleaseRefusedError: the log, or a folder above it, is a link.
        UnreadableError: a line is not what this tool writes.
    """
    if not is_name(name):
        return ()
    path = zoo.release_folder(name) / "log.jsonl"
    refuse_links(zoo, path)
    return read_log(path, zoo.shown(path))


def events(zoo: Zoo, name: str) -> tuple[Event, ...]:
    """What happened to the versions of ``name`` after their release, oldest first. Raises as
    :func:`raw_events` does."""
    shown = zoo.shown(zoo.release_folder(name) / "log.jsonl")
    found = []
    for number, raw in enumerate(raw_events(zoo, name), start=1):
        kind = _KINDS.get(raw["event"])
        if kind is None:
            continue
        names = [field.name for field in fields(kind)]
        wrong = next((each for each in names if not _CHECKS[each](raw.get(each))), None)
        if wrong is not None:
            raise UnreadableError(
                f'{shown}:{number}: not an event of a release log: its "{wrong}" is not what '
                f'"{kind.event}" has',
                hint=f"the log is append-only; compare with: git log -p -- {shown}",
            )
        found.append(kind(**{each: raw[each] for each in names}))
    return tuple(found)


def withdrawn(zoo: Zoo, name: str) -> dict[str, str]:
    """The yanked versions of ``name`` and why; the first reason stands."""
    found: dict[str, str] = {}
    for event in events(zoo, name):
        if isinstance(event, Yanked):
            found.setdefault(event.version, event.reason)
    return found


def aliases(zoo: Zoo, name: str) -> dict[tuple[str, str], Aliased]:
    """Where every alias of ``name`` points now, by target and alias."""
    return {(event.target, event.alias): event for event in events(zoo, name) if isinstance(event, Aliased)}


def aliases_of(version: str, named: Mapping[tuple[str, str], Aliased]) -> tuple[str, ...]:
    """The aliases among ``named`` that point to ``version``; one that points elsewhere at another target,
    with the target of this one."""
    said = set()
    for (target, alias), event in named.items():
        if event.version == version:
            elsewhere = any(other.version != version for (_, a), other in named.items() if a == alias)
            said.add(f"{alias} at {target}" if elsewhere else alias)
    return tuple(sorted(said))


def released(zoo: Zoo, name: str) -> dict[str, tuple[str, ...]]:
    """The published versions, in the order in which they were published, each with what a person must know
    of it: "yanked", and the aliases that point to it."""
    reasons, named = withdrawn(zoo, name), aliases(zoo, name)
    return {
        version: (*(("yanked",) if version in reasons else ()), *aliases_of(version, named))
        for version in versions(raw_events(zoo, name))
    }


def marked(known: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What :func:`released` found, in words: ``1.0.0 (yanked)``."""
    return [f"{version} ({', '.join(marks)})" if marks else version for version, marks in known.items()]


def append(zoo: Zoo, name: str, event: Event) -> bool:
    """Add one line to the log, unless the last event about the same thing says so. Returns whether it did
    not."""
    same = [each for each in events(zoo, name) if each.about == event.about]
    if same and same[-1] == event:
        return False
    append_line(zoo.release_folder(name) / "log.jsonl", {"event": event.event, **asdict(event)})
    return True
