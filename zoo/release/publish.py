"""The last steps of a release: the ones that write. They know the target only by its interface."""

from __future__ import annotations

from zoo.errors import TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.release import record as records
from zoo.release.attest import other_signer
from zoo.release.context import Done, Release, Skip, skip
from zoo.release.durable import identity
from zoo.release.manifest import SIGNATURE
from zoo.release.record import Entry, Proposed

_ALREADY = "published already"


def upload(release: Release) -> Done | Skip:
    if release.published is not None:
        return skip(_ALREADY)
    files = {name: release.checkpoint.root / name for name in release.staged}
    said = release.plan.target.upload(release.manifest, {**files, **release.written})
    # The manifest has the digests of the files as they were verified.
    for name, path in files.items():
        if identity(path) != release.staged[name]:
            raise UnreadableError(
                f"{quoted(str(path))} changed after it was verified",
                hint="wait until whatever writes it has finished, then run the command again",
            )
    return Done(said)


def commit(release: Release) -> Done | Skip:
    if release.published is not None:
        release.ref = release.published.ref
        return skip(_ALREADY)
    release.ref = release.plan.target.commit(release.base)
    signed = ""
    if release.signature is not None:
        # That of a commit which an earlier run made stays, also one by another key.
        ours, release.signature = release.signature, release.plan.target.fetch(release.ref, SIGNATURE)
        if ours != release.signature and (other := other_signer(release, release.signature)):
            signed = f"; it was made before, signed by {other}, and keeps that signature"
    what = "proposed as" if release.plan.propose else "complete as"
    return Done(f"{what} {release.ref}, not released yet{signed}")


def read_back(release: Release) -> Done | Skip:
    """Compare what the target holds, new or published before, with the manifest of this run."""
    if release.published is None and not release.plan.push:
        return skip("dry run: nothing was uploaded")
    ref = release.ref if release.published is None else release.published.ref
    found = release.plan.target.read_back(ref)
    if found.raw != release.manifest.raw:
        raise TargetUnusableError(
            f"{release.plan.target.spec} gave back another manifest than the one that was sent",
            hint="look at what else writes there, then run the command again",
        )
    return Done(f"{len(found.files)} files there are those of the manifest")


def tag(release: Release) -> Done | Skip:
    plan = release.plan
    if plan.propose and release.published is None:
        return skip(
            f"a pull request; to merge and tag it: zoo merge {plan.recipe.name}@{plan.recipe.version}"
        )
    release.ref = release.plan.target.tag(release.ref)
    label = plan.target.label(plan.recipe.version)
    return Done(f"{plan.recipe.version} is visible as {f'{label}, ' if label else ''}{release.ref}")


def record(release: Release) -> Done | Skip:
    plan, version = release.plan, release.plan.recipe.version
    sha256 = release.manifest.sha256
    entry: Entry | Proposed = Entry(
        version, plan.target.spec, release.ref, sha256, plan.target.label(version)
    )
    if plan.propose and release.published is None:
        number = plan.target.pull_request
        entry = Proposed(version, plan.target.spec, release.ref, sha256, number)
    changed = records.write(plan.zoo, plan.recipe.name, entry, release.manifest, release.written)
    folder = plan.zoo.shown(plan.zoo.release_folder(plan.recipe.name, version))
    last = plan.target.finish()
    if not (changed or last):
        return skip(f"{folder}/ is complete")
    said = f"{folder}/ and the log, ready for git" if changed else f"{folder}/ is complete"
    return Done(f"{said}; {last}" if last else said)
