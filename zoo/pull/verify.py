"""Verifying a release: its files are those of its manifest, and they pass the checks of a draft."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.model import Checkpoint
from zoo.checkpoint.scan import Scan
from zoo.errors import ReleaseRefusedError
from zoo.printable import quoted
from zoo.pull.place import Release, bytes_of, find_release, recipe_of
from zoo.release import manifest as manifests
from zoo.rules import Level
from zoo.sources import Sources
from zoo.verify import Verification, verify_recipe, verify_source
from zoo.workspace import Zoo

if TYPE_CHECKING:
    from zoo.checkpoint.scan import DeepPass

_CHUNK = 1024 * 1024


def verify_release(
    zoo: Zoo,
    spec: str,
    *,
    target: str | None = None,
    level: Level = Level.HEADER,
    strict: bool = False,
    engines: tuple[tuple[str, str], ...] = (),
    deep: DeepPass | None = None,
    sources: Sources | None = None,
    endpoint: str = "",
) -> Verification:
    """Verify NAME@VERSION where it was published: against its recipe, if that still is the one that was
    released, else on its own. The sizes of its files must be those of the manifest; at deep level, their
    sha256 too.

    Raises:
        ReleaseRefusedError: a file is not what was released.
        UnreadableError: the files are out of reach, or changed while they were read.
        UsageError: there is no such release.
    """
    release = find_release(zoo, spec)
    source, sources = bytes_of(release, endpoint), sources or Sources()
    if recipe_of(zoo, release) is not None:
        run = verify_recipe(
            zoo,
            release.name,
            checkpoint=source,
            target=target,
            level=level,
            strict=strict,
            deep=deep,
            sources=sources,
        )
    else:
        run = verify_source(
            source, target=target, level=level, strict=strict, engines=engines, deep=deep, sources=sources
        )
    assert run.subject.checkpoint is not None  # it was named, so that it is there or an error
    _refuse_other(release, run.subject.checkpoint, run.subject.scan)
    return run


def _refuse_other(release: Release, checkpoint: Checkpoint, scan: Scan | None) -> None:
    """Raises ReleaseRefusedError if a file is not what the manifest says. With ``scan``, by its bytes."""
    for path, stated in sorted(release.manifest.files.items()):
        size = checkpoint.files.get(path)
        if size is None:
            raise _refused(release, checkpoint, path, "is missing, or no file")
        if size != stated.size:
            raise _refused(
                release, checkpoint, path, f"has {size:,} bytes, and its manifest says {stated.size:,}"
            )
        found = checkpoint.reported_sha256.get(path)
        if scan is not None:
            found = scan.files[path].sha256 if path in scan.files else _sha256(checkpoint, path)
        if found is not None and found != stated.sha256:
            how = f"has the sha256 {found[:12]}…, and its manifest says {stated.sha256[:12]}…"
            raise _refused(release, checkpoint, path, how)
    extra = sorted(checkpoint.files.keys() - release.manifest.files.keys() - {manifests.NAME})
    if extra and checkpoint.opener is None:  # a hub adds files of its own
        raise _refused(release, checkpoint, extra[0], "is not in its manifest")


def _refused(release: Release, checkpoint: Checkpoint, path: str, how: str) -> ReleaseRefusedError:
    return ReleaseRefusedError(
        f"{release.label}: {quoted(path)} of {quoted(checkpoint.source)} {how}",
        hint="a published version never changes: restore the file, or release the version again elsewhere",
    )


def _sha256(checkpoint: Checkpoint, path: str) -> str:
    """The digest of a file that the pass over the declared files left out: a card, notes."""
    digest = hashlib.sha256()
    opener = checkpoint.opener
    with open_regular(checkpoint.root / path) if opener is None else opener(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
