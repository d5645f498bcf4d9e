"""What a commit of a hub holds, against what a manifest lists. No requests are made here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zoo.digests import FileDigest
from zoo.printable import quoted
from zoo.release.manifest import NAME, UNLISTED, Manifest

# The hub's own: it says which files are large. Every repository begins with it.
ATTRIBUTES = ".gitattributes"
CARD = "README.md"
# A hub keeps larger files in LFS only (huggingface.co/docs/hub/repositories-getting-started).
REGULAR_LIMIT = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Stored:
    """A file of a commit. ``sha256`` is what the hub states of a large file (in LFS), "" of a regular one;
    ``oid`` the git blob id, of a large file that of its pointer."""

    path: str
    size: int
    sha256: str
    oid: str


def blob_id(content: bytes) -> str:
    """The id that git gives ``content``: the sha1 of it behind a header (git-scm.com/book, Git Objects)."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def listed(manifest: Manifest) -> dict[str, FileDigest]:
    """All files of a release: those of ``manifest``, and itself."""
    return {**manifest.files, NAME: FileDigest(NAME, len(manifest.raw), manifest.sha256)}


def first_difference(
    files: Mapping[str, FileDigest], stored: Mapping[str, Stored], oids: Mapping[str, str]
) -> str | None:
    """What is wrong with the first file that a commit lacks, has with other bytes, or has besides ``files``;
    None if the commit is exactly them. ``oids``: the blob ids of files small enough to be regular ones."""
    for path, wanted in sorted(files.items()):
        found = stored.get(path)
        if found is None:
            return f"{quoted(path)} is missing"
        if found.size != wanted.size:
            return f"{quoted(path)} has {found.size:,} bytes, and its manifest says {wanted.size:,}"
        if path == CARD and found.sha256:
            return (
                f"{quoted(path)} is kept as a large file, so that the hub reads no metadata in it "
                f"({ATTRIBUTES} says so)"
            )
        if found.sha256 and found.sha256 != wanted.sha256:
            return (
                f"{quoted(path)} has sha256 {found.sha256[:12]}…, and its manifest says {wanted.sha256[:12]}…"
            )
        if not found.sha256 and found.oid != oids.get(path):
            return f"{quoted(path)} is not what its manifest says (git blob {quoted(found.oid[:12])})"
    extra = strays(files, stored)
    return f"{quoted(extra[0])} is not in its manifest" if extra else None


def strays(files: Iterable[str], stored: Iterable[str]) -> list[str]:
    """The paths of a commit that belong neither to the release nor to the hub."""
    return sorted(set(stored) - set(files) - {ATTRIBUTES, *UNLISTED})
