"""The recipes of a change beside each other and beside those of the base: one repository for two of them
(V017), and one with published versions that is gone (V018)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from zoo.ci.affected import References
from zoo.ci.base import BaseZoo
from zoo.ci.model import Cause, ChangedFile, Kind
from zoo.errors import ZooError
from zoo.printable import printable, quoted
from zoo.release import record
from zoo.results import Finding, Where


def shared_repositories(references: References, causes: Mapping[str, tuple[Cause, ...]]) -> Iterator[Finding]:
    """V017: each repository that a recipe which the change edits has together with another one."""
    edited = [name for name, each in causes.items() if {cause.how for cause in each} & {"recipe", "extends"}]
    said: set[str] = set()
    for name in edited:
        repo = references.repository(name) if name in references.names else ""
        others = [each for each in references.of_repository(repo) if each != name] if repo else []
        if others and repo not in said:
            said.add(repo)
            message = f"{_listed([name, *others])} have the same repository, {quoted(repo)}"
            hint = "give each draft a repository of its own"
            yield Finding(message, hint, references.line(name, "repo"), code="V017")


def removed(references: References, base: BaseZoo, changed: Iterable[ChangedFile]) -> Iterator[Finding]:
    """V018: each recipe that is gone, and of which versions were published."""
    for file in changed:
        match file.path.split("/"):
            case ["recipes", last] if last.endswith(".yaml") and file.kind is Kind.REMOVED:
                yield from _removed(references, base, file.path, last.removesuffix(".yaml"))


def _removed(references: References, base: BaseZoo, path: str, name: str) -> Iterator[Finding]:
    try:
        entries = record.published(base.zoo, name) if base.release(name) else ()
    except ZooError:  # V004 or V006 says it
        return
    if not entries:
        return
    versions = list(dict.fromkeys(entry.version for entry in entries))
    before = base.recipe(name)
    now = references.of_repository(before.repo) if before is not None else []
    is_or_are = "is" if len(versions) == 1 else "are"
    message = (
        f"the recipe of {printable(name, keep='')} is removed, and {_listed(versions)} {is_or_are} published"
    )
    hint = "restore it; or say first that nobody should take them: zoo yank"
    if now and before is not None:
        message += f"; its repository, {quoted(before.repo)}, is that of {_listed(now)} now"
        hint = "keep the name: releases, tags and the log are recorded under it"
    yield Finding(message, hint, Where(path), code="V018")


def _listed(names: list[str]) -> str:
    shown = [printable(name, keep="") for name in names[:5]]
    shown += [f"{len(names) - 5} more"] if len(names) > 5 else []
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
