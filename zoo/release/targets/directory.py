"""A directory as publishing target (``dir:PATH``): ``PATH/NAME/VERSION/``, immutable, and
``PATH/index.json``.

A release is built in ``PATH/.staging-NAME-VERSION-XXXXXXXX`` and renamed when it is complete and proved,
so that a version is there as a whole or not at all. ``PATH/.lock`` is held from commit to index: of two
releases of a version at the same time, one wins. A staging folder is locked by the process that fills it;
one without a lock is left over from a process that died, and the next release of that version removes it.
The index is derived from the manifests, and from what became of the versions since
(``directory_standing``), so that a rerun mends it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from zoo.atomic import write_atomically
from zoo.digests import sha256_file
from zoo.errors import ReleaseRefusedError, TargetUnusableError, UnreadableError
from zoo.printable import quoted
from zoo.release import manifest as manifests
from zoo.release.durable import holds, identity, store, sync_folder
from zoo.release.manifest import Manifest
from zoo.release.paths import first_link, read_small
from zoo.release.targets import Published
from zoo.release.targets.directory_standing import NAME as STANDING
from zoo.release.targets.directory_standing import Standing, change_standing, read_standing

_INDEX = "index.json"
# What a release writes besides the bytes that it copies: manifest, card, notes, index.
_SPARE_BYTES = 4 * 1024 * 1024


class DirectoryTarget:
    """The releases of the draft ``name`` below ``root``. ``spec`` is how the person wrote it."""

    pull_request = 0
    secrets = ()

    def __init__(self, root: Path, name: str, spec: str) -> None:
        self.spec = spec
        self._root = root
        self._name = name
        self._staging: Path | None = None
        self._locks: list[int] = []
        self._proved: dict[str, tuple[int, ...]] = {}

    @property
    def root(self) -> Path:
        return self._root

    def preflight(self, nbytes: int) -> str:
        """See :class:`~zoo.release.targets.PublishingTarget`. The base is the list of the versions that
        are there."""
        if self._name == _INDEX:
            raise ReleaseRefusedError(
                f"a recipe called {quoted(self._name)} cannot be published to a directory, which keeps its "
                "list of releases under that name",
                hint="give the recipe another name: its file and its name:",
            )
        if (self._root / _INDEX).is_dir():
            raise TargetUnusableError(
                f"{quoted(str(self._root / _INDEX))} is a folder, and the list of releases belongs there",
                hint="move it away, or name another folder: --to dir:PATH",
            )
        parent = next(folder for folder in (self._root, *self._root.parents) if folder.exists())
        hint = "name another folder: --to dir:PATH"
        if not parent.is_dir():
            raise TargetUnusableError(f"{quoted(str(parent))} is a file, not a folder", hint=hint)
        if not os.access(parent, os.W_OK | os.X_OK):
            raise TargetUnusableError(f"{quoted(str(parent))} cannot be written to", hint=hint)
        free, needed = shutil.disk_usage(parent).free, nbytes + _SPARE_BYTES
        if free < needed:
            raise TargetUnusableError(
                f"{quoted(str(parent))} has {free:,} bytes free, and the release needs {needed:,}",
                hint="free some space, or name another folder: --to dir:PATH",
            )
        return " ".join(self._versions(self._name))

    def lookup(self, version: str) -> Published | None:
        folder = self._root / self._name / version
        self._refuse_links(folder)
        if not os.path.lexists(folder):
            return None
        manifest = self._manifest(folder)
        if (manifest.name, manifest.version) != (self._name, version):
            raise TargetUnusableError(
                f"{quoted(str(folder))} holds {quoted(f'{manifest.name} {manifest.version}')}",
                hint="somebody copied or moved it there: move it away and run the command again",
            )
        return Published(f"{self._name}/{version}", manifest)

    def accept_card(self, card: bytes) -> None:
        """A folder takes any card."""

    def upload(self, manifest: Manifest, files: Mapping[str, Path | bytes]) -> str:
        self._root.mkdir(parents=True, exist_ok=True)
        lock = _locked(self._root / ".lock")
        try:
            # Before the copy: it may need the space.
            self._remove_stale(manifest.version)
            staging = self._root / f"{self._prefix(manifest.version)}{secrets.token_hex(4)}"
            self._staging = staging
            self._locks.append(_locked(_lock_of(staging)))
            staging.mkdir()
        finally:
            os.close(lock)
        folders = {staging}
        sizes = {path: file.size for path, file in manifest.files.items()}
        sizes |= {path: len(text) for path, text in files.items() if isinstance(text, bytes)}
        sizes[manifests.NAME] = len(manifest.raw)
        for path, content in {**files, manifests.NAME: manifest.raw}.items():
            file = staging / path
            file.parent.mkdir(parents=True, exist_ok=True)
            folders.update(parent for parent in file.parents if parent.is_relative_to(staging))
            store(content, file)
            # Compared and not hashed: the digests of the manifest are those of these very sources.
            if not holds(file, content) or file.stat().st_size != sizes[path]:
                source = content if isinstance(content, Path) else path
                raise UnreadableError(
                    f"{quoted(str(source))} changed after it was verified",
                    hint="wait until whatever writes it has finished, then run the command again",
                )
            self._proved[path] = identity(file)
        for folder in folders:
            sync_folder(folder)
        return f"{len(files) + 1} files, {sum(file.size for file in manifest.files.values()):,} bytes"

    def commit(self, base: str) -> str:
        assert self._staging is not None, "upload comes first"
        self._locks.append(_locked(self._root / ".lock"))
        manifest = self._manifest(self._staging)
        self._refuse_links(self._root / self._name / manifest.version)
        if os.path.lexists(self._root / self._name / manifest.version):
            raise ReleaseRefusedError(
                f"{self._name} {manifest.version} was published by somebody else while this release ran",
                hint="run the command again: if the bytes are the same there is nothing left to do",
            )
        if " ".join(self._versions(self._name)) != base:
            raise ReleaseRefusedError(
                f"another version of {self._name} was published while this release ran",
                hint="run the command again, so that the notes compare with the right version",
            )
        return self._staging.name

    def read_back(self, ref: str) -> Manifest:
        folder = self._root / ref
        manifest = self._manifest(folder)
        for path, expected in manifest.files.items():
            file = folder / path
            if file.is_symlink() or not file.is_file():
                raise self._altered(file, "is missing")
            if folder == self._staging and self._proved.get(path) == identity(file):
                continue  # compared with its source while it was written, and untouched since
            found = sha256_file(file)
            if found != expected.sha256:
                raise self._altered(
                    file, f"has sha256 {found[:12]}…, and its manifest says {expected.sha256[:12]}…"
                )
        present = {
            file.relative_to(folder).as_posix()
            for file in folder.rglob("*")
            if file.is_symlink() or not file.is_dir()
        }
        extra = sorted(present - manifest.files.keys() - set(manifests.UNLISTED))
        if extra:
            raise self._altered(folder / extra[0], "is not in its manifest")
        return manifest

    def fetch(self, ref: str, path: str) -> bytes:
        file = self._root / ref / path
        if not os.path.lexists(file):
            raise ReleaseRefusedError(
                f"{quoted(str(file.parent))} holds no {file.name}",
                hint="restore it from release/ in the zoo's git, or release a new version",
            )
        return self._read(file)

    def tag(self, ref: str) -> str:
        if not self._locks:
            self._locks.append(_locked(self._root / ".lock"))
        folder = self._root / ref
        if folder == self._staging:
            final = self._root / self._name / self._manifest(folder).version
            final.parent.mkdir(exist_ok=True)
            folder.rename(final)
            _lock_of(folder).unlink()
            self._staging = None
            sync_folder(final.parent)
            sync_folder(self._root)
            folder = final
        self._remove_stale(folder.name)
        self._write_index()
        return folder.relative_to(self._root).as_posix()

    def withdraw(self, version: str, reason: str) -> str:
        """Let the index say that ``version`` is yanked. Its files stay. Returns what was done, in words."""
        self._stand(lambda old: replace(old, yanked={**old.yanked, version: reason}))
        return f"{quoted(str(self._root / _INDEX))} says so"

    def point(self, alias: str, version: str) -> str:
        """Let ``alias`` be ``version`` in the index, at once. Returns the folder of the version."""
        self._stand(lambda old: replace(old, aliases={**old.aliases, alias: version}))
        return f"{self._name}/{version}"

    def _stand(self, change: Callable[[Standing], Standing]) -> None:
        folder = self._root / self._name
        self._refuse_links(folder / STANDING)
        lock = _locked(self._root / ".lock")
        try:
            change_standing(folder, change)
            self._write_index()
        finally:
            os.close(lock)

    def label(self, version: str) -> str:
        return ""

    def proposed(self, number: int) -> Published | None:
        """A directory has no pull requests."""
        return None

    def second_proposal(self, number: int, label: str) -> ReleaseRefusedError | None:
        return None

    def finish(self) -> str:
        return ""

    def show(self, ref: str) -> str:
        return str(self._root / ref)

    def abandon(self) -> None:
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            _lock_of(self._staging).unlink(missing_ok=True)
            self._staging = None
        while self._locks:
            os.close(self._locks.pop())

    def _prefix(self, version: str) -> str:
        return f".staging-{self._name}-{version}-"

    def _remove_stale(self, version: str) -> None:
        """Remove what killed releases of ``version`` left behind. Holds ``.lock``, so that no folder is
        still to be locked."""
        pattern = re.compile(re.escape(self._prefix(version)) + "[0-9a-f]{8}")
        found = {path.with_suffix("") if path.suffix == ".lock" else path for path in self._root.iterdir()}
        for folder in found - {self._staging}:
            if pattern.fullmatch(folder.name):
                with suppress(BlockingIOError):  # another process is filling it
                    lock = _locked(_lock_of(folder), fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
                    _lock_of(folder).unlink(missing_ok=True)
                    os.close(lock)

    def _manifest(self, folder: Path) -> Manifest:
        file = folder / manifests.NAME
        return manifests.parse(self._read(file), str(file))

    def _read(self, file: Path) -> bytes:
        self._refuse_links(file)
        try:
            return read_small(file)
        except OSError as error:
            raise TargetUnusableError(
                f"{quoted(str(file.parent))} holds no {file.name} that can be read ({error.strerror})",
                hint="look at what lies there; if it is no release, move it away and run the command again",
            ) from error

    def _holds(self, file: Path, content: bytes) -> bool:
        with suppress(TargetUnusableError):
            return self._read(file) == content
        return False

    def _refuse_links(self, path: Path) -> None:
        if (link := first_link(path, self._root)) is not None:
            raise TargetUnusableError(
                f"{quoted(str(link))} is a link, and a release lies in a folder of its own",
                hint="move the link away, or name another folder: --to dir:PATH",
            )

    def _versions(self, name: str) -> list[str]:
        folder = self._root / name
        return (
            sorted(each.parent.name for each in folder.glob(f"*/{manifests.NAME}")) if folder.is_dir() else []
        )

    def _write_index(self) -> None:
        """Holds ``.lock``."""
        index = json.dumps(self._index(), indent=2, sort_keys=True).encode() + b"\n"
        file = self._root / _INDEX
        if not self._holds(file, index):
            write_atomically(file, index)

    def _index(self) -> dict[str, object]:
        """All releases of the directory, with what became of them. What cannot be read (a manifest, a
        standing) is left out; its own rerun tells why."""
        releases: dict[str, dict[str, dict[str, object]]] = {}
        for file in sorted(self._root.glob(f"[!.]*/*/{manifests.NAME}")):
            with suppress(TargetUnusableError):
                manifest = self._manifest(file.parent)
                if (manifest.name, manifest.version) == (file.parent.parent.name, file.parent.name):
                    releases.setdefault(manifest.name, {})[manifest.version] = {
                        "manifest_sha256": manifest.sha256,
                        "checkpoint_digest": manifest.document["checkpoint_digest"],
                        "repo": manifest.document["repo"],
                        "standin": manifest.document["standin"],
                    }
        aliases: dict[str, dict[str, str]] = {}
        for name, versions in releases.items():
            with suppress(TargetUnusableError):
                self._refuse_links(self._root / name / STANDING)
                standing = read_standing(self._root / name)
                for version in standing.yanked.keys() & versions:
                    versions[version]["yanked"] = standing.yanked[version]
                if standing.aliases:
                    aliases[name] = standing.aliases
        known: dict[str, object] = {"schema": "zoo-index/1", "releases": releases}
        return known | {"aliases": aliases} if aliases else known

    def _altered(self, file: Path, how: str) -> ReleaseRefusedError:
        return ReleaseRefusedError(
            f"{quoted(str(file.relative_to(self._root)))} below {quoted(str(self._root))} {how}",
            hint="a published version never changes: restore the file, or move the whole version away and "
            "release it again",
        )


def _lock_of(staging: Path) -> Path:
    # A file beside the folder: over NFS, flock needs a descriptor that is open for writing (man 2 flock).
    return staging.with_name(f"{staging.name}.lock")


def _locked(path: Path, flags: int = 0) -> int:
    """Lock a file, which is made where it is missing. The lock holds until the descriptor is closed or the
    process ends, however it ends. With LOCK_NB, BlockingIOError if another process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | flags)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
