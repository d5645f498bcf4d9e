"""Merging a proposed release: its pull request becomes the version. What it holds is compared with what was
recorded when it was proposed, before the merge and after it; the tag comes last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zoo.errors import ReleaseRefusedError, UsageError
from zoo.printable import quoted
from zoo.recipe.names import is_name
from zoo.release import record
from zoo.release.journal import Journal
from zoo.release.manifest import Manifest
from zoo.release.record import Entry, Proposed
from zoo.release.targets.hub import HubTarget
from zoo.workspace import Zoo


@dataclass(frozen=True, slots=True)
class Merging:
    """What is merged: the ``proposed`` event of the log, and the ``manifest`` that was recorded with it."""

    zoo: Zoo
    name: str
    proposed: Proposed
    manifest: Manifest


def find_proposed(zoo: Zoo, spec: str) -> Merging:
    """The proposal that ``spec``, NAME@VERSION, names.

    Raises:
        UsageError: there is none.
        ReleaseRefusedError: the record is not that of the log.
    """
    name, _, version = spec.partition("@")
    known = record.proposed(zoo, name) if is_name(name) else ()
    events = [each for each in known if each.version == version]
    if not events:
        raise UsageError(
            f"nothing was proposed as {quoted(spec)} in this zoo",
            hint=f"propose it first: zoo release {name if is_name(name) else 'NAME'} --push --pr",
        )
    manifest = record.manifest_of(zoo, name, version)
    if manifest is None or manifest.sha256 != events[-1].manifest_sha256:
        folder = zoo.shown(zoo.release_folder(name, version))
        raise ReleaseRefusedError(
            f"{folder}/manifest.json is not what was proposed as {spec}",
            hint=f"restore it: git checkout -- {folder}",
        )
    return Merging(zoo, name, events[-1], manifest)


def merge(
    merging: Merging, target: HubTarget, tell: Callable[[str, str], None], note: Callable[[str], None]
) -> str:
    """Compare, merge, compare again, tag and record. ``tell`` is given each step and what it proved, ``note``
    what is continued. The commit that is the version now."""
    zoo, name, proposed, manifest = merging.zoo, merging.name, merging.proposed, merging.manifest
    number = proposed.pull_request
    journal = Journal(zoo, name, proposed.version, target.spec)
    if journal.unfinished:
        note(f"this continues a merge that {journal.unfinished.words}")
    facts = {"pull_request": str(number), "manifest_sha256": manifest.sha256}
    with journal.step("preflight", lambda: facts):
        published = target.lookup(proposed.version)
        base = target.preflight(0)
        if published is not None and published.manifest.raw != manifest.raw:
            raise ReleaseRefusedError(
                f"{name} {proposed.version} was published with another manifest than the one proposed",
                hint="a released version never changes: raise version: in the recipe and propose that",
            )
        state = "is tagged already" if published else "is not tagged yet"
        tell("preflight", f"{target.spec} can be written; {proposed.version} {state}")
    if published is not None:
        ref = published.ref
    else:
        with journal.step("check", lambda: facts):
            tell("check", target.check_proposal(number, base, manifest))
        with journal.step("merge", lambda: facts):
            ref = facts["ref"] = target.merge_proposal(number)
            tell("merge", f"pull request {number} is commit {ref}")
    with journal.step("read back", lambda: facts):
        target.refuse_other(ref, manifest)
        tell("read back", f"{len(manifest.files)} files there are those of the manifest")
    with journal.step("tag", lambda: facts):
        target.tag(ref)
        tell("tag", f"{proposed.version} is visible as {target.label(proposed.version)}")
    with journal.step("record", lambda: facts):
        tag = target.label(proposed.version)
        entry = Entry(proposed.version, target.spec, ref, manifest.sha256, tag)
        record.append(zoo, name, entry)
        tell("record", f"{zoo.shown(zoo.release_folder(name))}/log.jsonl, ready for git")
    journal.finish()
    return ref
