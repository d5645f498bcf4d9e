"""What is known of the bytes of a checkpoint without reading weights: the sha256 that a hub states, that of
small files, and that of weights which are small themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zoo.checkpoint.content import read_up_to
from zoo.checkpoint.model import Checkpoint
from zoo.digests import FileDigest, checkpoint_digest, engine_files, sha256_file, sha256_hex
from zoo.recipe.model import Recipe

# Of a local folder that the change does not touch: what takes a fraction of a second.
# A hub states the digests of its large files.
_LOCAL, _REMOTE = 64 * 1024 * 1024, 8 * 1024 * 1024


def known_digests(
    checkpoint: Checkpoint, names: Iterable[str], *, whole: bool = False
) -> dict[str, FileDigest]:
    """The digests of those files of ``names`` that are there and known. ``whole``: of local files, whatever
    their size."""
    found = {}
    for name in names:
        size = checkpoint.files.get(name)
        sha256 = None if size is None else _sha256(checkpoint, name, size, whole)
        if size is not None and sha256 is not None:
            found[name] = FileDigest(name, size, sha256)
    return found


def known_digest(recipe: Recipe, known: Mapping[str, FileDigest]) -> str | None:
    """The checkpoint digest, or None where a file that an engine reads is not among ``known``."""
    read = engine_files(recipe, [FileDigest(name, 0, "") for name in recipe.checkpoint.files])
    if not read or any(file.path not in known for file in read):
        return None
    return checkpoint_digest(known[file.path] for file in read)


def _sha256(checkpoint: Checkpoint, name: str, size: int, whole: bool) -> str | None:
    stated = checkpoint.reported_sha256.get(name)
    if stated is not None:
        return stated
    try:
        if checkpoint.opener is None:
            return sha256_file(checkpoint.root / name) if whole or size <= _LOCAL else None
        if size > _REMOTE:
            return None
        with checkpoint.opener(name) as file:
            return sha256_hex(read_up_to(file, _REMOTE))
    except OSError:
        return None
