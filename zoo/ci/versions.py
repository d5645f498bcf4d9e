"""The version of a recipe against what the base has and what was published (V001, V002, V019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zoo.card.check import usable_evidence
from zoo.card.render import render_card
from zoo.card.standing import read_standing
from zoo.ci.base import BaseZoo
from zoo.diff.values import changes
from zoo.digests import FileDigest, engine_files
from zoo.errors import ZooError
from zoo.printable import printable, quoted
from zoo.recipe.model import Recipe
from zoo.release import record
from zoo.release.manifest import Manifest
from zoo.release.record import Entry, precedence
from zoo.results import Finding, Where
from zoo.rules import Absent
from zoo.workspace import Zoo

_RAISE = "raise the version in the recipe; a published one stays what it is"
# Of the checkpoint: where it is, and what is said about its documents, may change.
_KEYS = 3  # of those that changed: how many a message names
_PROSE = ("/source", "/about")


def released_changes(
    zoo: Zoo, base: BaseZoo, recipe: Recipe, before: Recipe | None, known: Mapping[str, FileDigest]
) -> tuple[list[Finding], Absent | None]:
    """V001, and why it could not be asked. ``known``: the files of the source whose digest is known."""
    if recipe.version not in {entry.version for entry in _published(zoo, base, recipe.name)}:
        return _meanwhile(base, recipe)
    found = list(_facts(recipe, before))
    other, unknown = against_manifest(recipe, _manifest(zoo, base, recipe), known)
    return found + other, unknown


def _meanwhile(base: BaseZoo, recipe: Recipe) -> tuple[list[Finding], Absent | None]:
    """V001 of a version that was published after this change left its base, which cannot know it."""
    log, later = f"release/{recipe.name}/log.jsonl", base.later
    if later is None or later.entries.get(log) == base.entries.get(log) or not later.release(recipe.name):
        return [], None
    try:
        versions = {entry.version for entry in record.published(later.zoo, recipe.name)}
    except ZooError as error:
        return [], Absent(f"{later.name}: {error.message}", required=False)
    if recipe.version not in versions:
        return [], None
    branch = printable(later.name, keep="")
    message = f"{recipe.name} {recipe.version} was published on {branch} meanwhile"
    hint = f"merge {branch} into this branch, and raise the version for what is to change"
    return [Finding(message, hint, recipe.where("/version"), code="V001")], None


def against_manifest(
    recipe: Recipe, manifest: Manifest | None, known: Mapping[str, FileDigest]
) -> tuple[list[Finding], Absent | None]:
    """V001 of files that are not those of the ``manifest`` of the recipe's version."""
    if manifest is None:
        return [], Absent(f"the manifest of {recipe.name} {recipe.version} is not there", required=False)
    found = []
    wanted = engine_files(recipe, [FileDigest(name, 0, "") for name in recipe.checkpoint.files])
    unknown = []
    for path in sorted(file.path for file in wanted):
        published, ours = manifest.files.get(path), known.get(path)
        where = recipe.where(f"/checkpoint/files/{path.replace('~', '~0').replace('/', '~1')}")
        if published is None:
            message = f"{quoted(path)} is no file of the published {recipe.version}"
            found.append(Finding(message, _RAISE, where, code="V001"))
        elif ours is None:
            unknown.append(path)
        elif ours.sha256 != published.sha256:
            message = (
                f"{quoted(path)} has sha256 {ours.sha256[:12]}…, and {recipe.version} was published with "
                f"{published.sha256[:12]}…"
            )
            found.append(Finding(message, _RAISE, where, code="V001"))
    if unknown:
        names = ", ".join(map(quoted, unknown[:3]))
        return found, Absent(f"the sha256 of {names} is not known without reading it", required=False)
    return found, None


def frozen_text(zoo: Zoo, base: BaseZoo, recipe: Recipe, before: Recipe | None) -> Iterator[Finding]:
    """V019: another text under a version that was published, which its card would say and cannot."""
    if before is None or before.version != recipe.version or not base.release(recipe.name):
        return
    if recipe.version not in {entry.version for entry in record.published(base.zoo, recipe.name)}:
        return
    found = list(changes(before.data, recipe.data))
    if not found:
        return
    try:
        standing = read_standing(zoo, recipe)
        evidence = usable_evidence(zoo, recipe, standing)
        cards = {render_card(zoo, each, evidence, standing) for each in (before, recipe)}
    except ZooError:  # K001 says what is wrong with template, evidence or record
        return
    if len(cards) > 1:
        keys = dict.fromkeys(change.pointer.split("/")[1] for change in found)
        named = ", ".join(printable(key, keep="") for key in list(keys)[:_KEYS])
        more = f" and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
        message = f"{named}{more} changed, and the card of {recipe.version} is frozen: it reaches no card"
        hint = "raise version: to publish it"
        yield Finding(message, hint, recipe.where(found[0].pointer), code="V019")


def order(zoo: Zoo, base: BaseZoo, recipe: Recipe, before: Recipe | None) -> Iterator[Finding]:
    """V002: the version is not below the base's, nor below a published one unless it is published itself."""
    entries = _published(zoo, base, recipe.name)
    highest = record.higher(recipe.version, entries)
    what = ""
    if before is not None and precedence(recipe.version) < precedence(before.version):
        what = f"{before.version}, which the recipe had"
    elif highest is not None and recipe.version not in {entry.version for entry in entries}:
        what = f"{highest}, which is published"
    if what:
        message = f"version {recipe.version} is lower than {what}"
        hint = "give it a version above all others"
        yield Finding(message, hint, recipe.where("/version"), code="V002")


def _facts(recipe: Recipe, before: Recipe | None) -> Iterator[Finding]:
    """What the recipe itself says of the draft otherwise than the base, under the same version."""
    if before is None or before.version != recipe.version:
        return
    for part in ("draft", "checkpoint", "target"):
        ours, theirs = _part(recipe, part), _part(before, part)
        for change in changes(theirs, ours):
            if part == "checkpoint" and change.pointer.startswith(_PROSE):
                continue
            message = f"{part}{change.pointer.replace('/', '.')} changed, and {recipe.version} is published"
            yield Finding(message, _RAISE, _place(recipe, part, change.pointer), code="V001")


def _part(recipe: Recipe, part: str) -> Mapping[str, Any]:
    if part != "target":
        found: Mapping[str, Any] = recipe.data[part]
        return found
    repo = recipe.target.repo
    return {"name": recipe.target.name, "repo": repo.path, "revision": repo.revision}


def _place(recipe: Recipe, part: str, pointer: str) -> Where:
    if part == "target":
        return recipe.where("/target") if pointer == "/name" else recipe.target.where(pointer)
    return recipe.where(f"/{part}{pointer}")


def is_published(zoo: Zoo, base: BaseZoo, recipe: Recipe) -> bool:
    """Whether the recipe's version was published, by what the base or the change knows."""
    return recipe.version in {entry.version for entry in _published(zoo, base, recipe.name)}


def _published(zoo: Zoo, base: BaseZoo, name: str) -> tuple[Entry, ...]:
    """The publications that the base or the change knows. A log that cannot be read is V004 or V006."""
    known = record.published(base.zoo, name) if base.release(name) else ()
    try:
        return tuple(dict.fromkeys((*known, *record.published(zoo, name))))
    except ZooError:
        return known


def _manifest(zoo: Zoo, base: BaseZoo, recipe: Recipe) -> Manifest | None:
    """The manifest of the recipe's version as the base has it or, else, the change."""
    base.release(recipe.name)
    try:
        found = record.manifest_of(base.zoo, recipe.name, recipe.version)
        return found or record.manifest_of(zoo, recipe.name, recipe.version)
    except ZooError:
        return None
