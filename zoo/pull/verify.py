"""Verifying a release: its files are those of its manifest, and they pass the checks of a draft."""

from __future__ import annotations

import hashlib
from datetime import date
from typing import TYPE_CHECKING

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.model import Checkpoint
from zoo.pull.place import Release, bytes_of, find_release, recipe_of, refuse_other
from zoo.release.paths import read
from zoo.rules import Level
from zoo.sources import Sources
from zoo.verify import Verification, verify_recipe, verify_source
from zoo.workspace import Zoo

if TYPE_CHECKING:
    from zoo.checkpoint.scan import DeepPass
    from zoo.trust.keyless import Signatory

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
    today: date | None = None,
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
    run = _verified(
        zoo,
        release,
        target=target,
        level=level,
        strict=strict,
        engines=engines,
        deep=deep,
        sources=sources,
        endpoint=endpoint,
        today=today,
    )
    checkpoint, scan = run.subject.checkpoint, run.subject.scan
    assert checkpoint is not None  # it was named, so that it is there or an error
    digests = checkpoint.reported_sha256
    if scan is not None:
        refuse_other(release, checkpoint, {})  # before files are read that are not there
        digests = {
            path: scan.files[path].sha256 if path in scan.files else _sha256(checkpoint, path)
            for path in release.manifest.files
        }
    refuse_other(release, checkpoint, digests)
    return run


def verify_signed_release(
    zoo: Zoo,
    spec: str,
    *,
    trusted: tuple[Signatory, ...],
    target: str | None = None,
    level: Level = Level.HEADER,
    strict: bool = False,
    engines: tuple[tuple[str, str], ...] = (),
    deep: DeepPass | None = None,
    sources: Sources | None = None,
    endpoint: str = "",
    today: date | None = None,
) -> Verification:
    """Verify NAME@VERSION with its signature, as :func:`verify_release` does without one: a file that is not
    the released one is a finding (P002), and so is another manifest than the log's, or changed evidence.

    Raises as that does, but for ReleaseRefusedError about a file.
    """
    from zoo.trust.verify import Shipped, check_trust

    release = find_release(zoo, spec)
    run = _verified(
        zoo,
        release,
        target=target,
        level=level,
        strict=strict,
        engines=engines,
        deep=deep,
        sources=sources,
        endpoint=endpoint,
        today=today,
    )
    folder = zoo.release_folder(release.name, release.version) / "evidence"
    evidence = {path.name: read(zoo, path) or b"" for path in sorted(folder.glob("*.json"))}
    return check_trust(run, trusted, level is Level.DEEP, Shipped(release.label, release.manifest, evidence))


def _verified(
    zoo: Zoo,
    release: Release,
    *,
    target: str | None,
    level: Level,
    strict: bool,
    engines: tuple[tuple[str, str], ...],
    deep: DeepPass | None,
    sources: Sources | None,
    endpoint: str,
    today: date | None,
) -> Verification:
    """The checks of a draft on the files of ``release``."""
    source, sources = bytes_of(release, endpoint), sources or Sources()
    if recipe_of(zoo, release) is not None:
        return verify_recipe(
            zoo,
            release.name,
            checkpoint=source,
            target=target,
            level=level,
            strict=strict,
            deep=deep,
            sources=sources,
            today=today,
        )
    return verify_source(
        source, target=target, level=level, strict=strict, engines=engines, deep=deep, sources=sources
    )


def _sha256(checkpoint: Checkpoint, path: str) -> str:
    """The digest of a file that the pass over the declared files left out: a card, notes."""
    digest = hashlib.sha256()
    opener = checkpoint.opener
    with open_regular(checkpoint.root / path) if opener is None else opener(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
