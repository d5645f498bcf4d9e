"""The last steps of a release: the ones that write. They know the target only by its interface."""

from __future__ import annotations

from zoo.errors import TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.release import record as records
from zoo.release.context import Done, Release, Skip, skip
from zoo.release.durable import identity
from zoo.release.record import Entry

_ALREADY = "published already"


def upload(release: Release) -> Done | Skip:
    if release.published is not None:
        return skip(_ALREADY)
    files = {name: release.checkpoint.root / name for name in release.staged}
    said = release.plan.target.upload(release.manifest, {**files, **release.texts})
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
    return Done(f"complete as {release.ref}, not visible yet")


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


def tag(release: Release) -> Done:
    release.ref = release.plan.target.tag(release.ref)
    return Done(f"{release.plan.recipe.version} is visible as {release.ref}")


def record(release: Release) -> Done | Skip:
    plan, version = release.plan, release.plan.recipe.version
    entry = Entry(version, plan.target.spec, release.ref, release.manifest.sha256)
    changed = records.write(plan.zoo, plan.recipe.name, entry, release.manifest, release.texts)
    folder = plan.zoo.shown(plan.zoo.release_folder(plan.recipe.name, version))
    return Done(f"{folder}/ and the log, ready for git") if changed else skip(f"{folder}/ is complete")
