"""Verifying a release: its files are those of its manifest, and they pass the checks of a draft."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from zoo.checkpoint.content import open_regular
from zoo.checkpoint.model import Checkpoint
from zoo.evidence import evidence_files
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


@dataclass(frozen=True, slots=True)
class How:
    """How a release is to be verified: as :func:`zoo.verify.verify_recipe` and ``verify_source`` have it, of
    which one is asked. ``endpoint``: the hub that the user typed, or ""."""

    target: str | None = None
    level: Level = Level.HEADER
    strict: bool = False
    engines: tuple[tuple[str, str], ...] = ()
    deep: DeepPass | None = None
    sources: Sources | None = None
    endpoint: str = ""
    today: date | None = None


def verify_release(
    zoo: Zoo, spec: str, how: How, trusted: tuple[Signatory, ...] | None = None
) -> Verification:
    """Verify NAME@VERSION where it was published: against its recipe, if that still is the one that was
    released, else on its own. The sizes of its files must be those of the manifest; at deep level, their
    sha256 too.

    With ``trusted``, one of these must have signed it: then a file that is not the released one is a finding
    (P002), and so is another manifest than the log's, or changed evidence.

    Raises:
        ReleaseRefusedError: without ``trusted``, a file is not what was released.
        UnreadableError: the files are out of reach, or changed while they were read.
        UsageError: there is no such release.
    """
    release = find_release(zoo, spec)
    run = _verified(zoo, release, how)
    if trusted is None:
        _refuse_other_files(release, run)
        return run
    from zoo.trust.verify import Shipped, check_trust

    folder = zoo.release_folder(release.name, release.version) / "evidence"
    evidence = {path.name: read(zoo, path) or b"" for path in evidence_files(zoo, folder)}
    known = Shipped(release.label, release.manifest, evidence)
    return check_trust(run, trusted, how.level is Level.DEEP, known)


def _verified(zoo: Zoo, release: Release, how: How) -> Verification:
    """The checks of a draft on the files of ``release``."""
    source, sources = bytes_of(release, how.endpoint), how.sources or Sources()
    if recipe_of(zoo, release) is not None:
        return verify_recipe(
            zoo,
            release.name,
            checkpoint=source,
            target=how.target,
            level=how.level,
            strict=how.strict,
            deep=how.deep,
            sources=sources,
            today=how.today,
        )
    return verify_source(
        source,
        target=how.target,
        level=how.level,
        strict=how.strict,
        engines=how.engines,
        deep=how.deep,
        sources=sources,
    )


def _refuse_other_files(release: Release, run: Verification) -> None:
    """Raises ReleaseRefusedError: a file that was verified is not the released one."""
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


def _sha256(checkpoint: Checkpoint, path: str) -> str:
    """The digest of a file that the pass over the declared files left out: a card, notes."""
    digest = hashlib.sha256()
    opener = checkpoint.opener
    with open_regular(checkpoint.root / path) if opener is None else opener(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
