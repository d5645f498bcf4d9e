"""Where the bytes of a release are: what ``release/NAME/log.jsonl`` and the manifest say.

    release = find_release(zoo, "tiny-ft", "1.0.0")
    release.folder, release.source, release.manifest.files

The log and the manifest can come from a pull request: a folder counts only if it holds the very manifest that
the log has the digest of, and a hub is read at a commit, never at a tag that can move.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zoo.checkpoint.model import Checkpoint
from zoo.digests import canonical_json, sha256_hex
from zoo.errors import ReleaseRefusedError, UnreadableError, UsageError, ZooError
from zoo.printable import quoted
from zoo.recipe.load import load_recipe, recipe_names
from zoo.recipe.model import Recipe
from zoo.recipe.names import is_name
from zoo.release import manifest as manifests
from zoo.release import record
from zoo.release.manifest import Manifest
from zoo.release.paths import first_link
from zoo.release.record import Entry
from zoo.release.targets.directory import DirectoryTarget
from zoo.workspace import Zoo

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Release:
    """A released version. ``folder`` holds its files, if a directory target still has them; ``source`` is
    their address on a hub, at a commit, or ""; ``endpoint`` is that hub, where the log names another one than
    the Hub. ``why``: why there is neither."""

    name: str
    version: str
    manifest: Manifest
    folder: Path | None
    source: str
    endpoint: str
    why: str

    @property
    def label(self) -> str:
        return f"{self.name}@{self.version}"


def find_release(zoo: Zoo, spec: str) -> Release:
    """The release that ``spec``, NAME@VERSION, names.

    Raises:
        UsageError: there is none.
        ReleaseRefusedError: the record in ``release/`` is not what the log says was published.
        UnreadableError: the log or the manifest cannot be read.
    """
    name, _, version = spec.partition("@")
    entries = record.published(zoo, name) if is_name(name) else ()
    ours = [entry for entry in reversed(entries) if entry.version == version]
    if not ours:
        known = ", ".join(dict.fromkeys(f"{name}@{entry.version}" for entry in entries))
        hint = f"released are: {known}" if known else "nothing of this name was released; see: zoo list"
        raise UsageError(f"there is no release {quoted(spec)} in this zoo", hint=hint)
    whys: list[str] = []
    folder = next((found for entry in ours if (found := _folder(zoo, name, entry, whys))), None)
    manifest = _manifest(zoo, name, ours[0], folder)
    source = endpoint = ""
    if folder is None:
        source, endpoint = next((hub for entry in ours if (hub := _hub(entry, manifest, whys))), ("", ""))
    return Release(name, version, manifest, folder, source, endpoint, "; ".join(dict.fromkeys(whys)))


def _folder(zoo: Zoo, name: str, entry: Entry, whys: list[str]) -> Path | None:
    """The folder of a directory target, if the release is still in it."""
    kind, _, path = entry.target.partition(":")
    if kind != "dir" or not path:
        return None
    root = zoo.root / path
    try:
        if (link := first_link(root, zoo.root)) is not None:
            raise ReleaseRefusedError(f"{quoted(zoo.shown(link))} is a link", hint="put a folder there")
        found = DirectoryTarget(root.resolve(), name, entry.target).lookup(entry.version)
    except ZooError as error:
        whys.append(error.message)
        return None
    if found is None:
        whys.append(f"{entry.target} does not hold it any more")
    elif found.manifest.sha256 != entry.manifest_sha256:
        whys.append(f"{entry.target} holds another release under this version")
    else:
        return root.resolve() / found.ref
    return None


def _manifest(zoo: Zoo, name: str, entry: Entry, folder: Path | None) -> Manifest:
    """The manifest as it was published: from ``release/`` or, where that lacks it, from the target."""
    found = record.manifest_of(zoo, name, entry.version)
    if found is None and folder is not None:
        path = folder / manifests.NAME
        return manifests.parse(path.read_bytes(), str(path))  # its digest was compared with the log
    if found is None:
        raise record.lost(zoo, name, entry)
    if found.sha256 != entry.manifest_sha256:
        shown = zoo.shown(zoo.release_folder(name, entry.version) / manifests.NAME)
        raise ReleaseRefusedError(
            f"{shown} is not what was published as {name} {entry.version}",
            hint=f"restore it: git checkout -- {shown}",
        )
    return found


def _hub(entry: Entry, manifest: Manifest, whys: list[str]) -> tuple[str, str] | None:
    """Source and endpoint of a release on a hub: target ``hf`` or the address of another hub."""
    if entry.target.startswith("dir:"):
        return None
    is_hub = entry.target.startswith(("https://", "http://"))
    if not (is_hub or entry.target == "hf"):
        whys.append(f"the log says that it was published at {quoted(entry.target)}, which nothing here reads")
    elif not _COMMIT.fullmatch(entry.ref):
        whys.append(f"the log names no commit of {quoted(entry.target)}")
    else:
        return f"hf://{manifest.document['repo']}@{entry.ref}", entry.target if is_hub else ""
    return None


def recipe_digest(recipe: Recipe) -> str:
    """The digest of a recipe as the manifest of a release has it."""
    return sha256_hex(canonical_json(recipe.data))


def recipe_of(zoo: Zoo, release: Release) -> Recipe | None:
    """The recipe, if it still is what was released."""
    if release.name not in recipe_names(zoo):
        return None
    recipe = load_recipe(zoo, release.name).recipe
    stated = release.manifest.document["recipe_digest"]
    return recipe if recipe is not None and recipe_digest(recipe) == stated else None


def bytes_of(release: Release, endpoint: str) -> str:
    """The source that has the files of ``release``: its folder, or its address on the hub. ``endpoint`` is
    what the user typed: another hub than the Hub is contacted only then.

    Raises:
        UnreadableError: they are nowhere.
    """
    if release.folder is not None:
        return str(release.folder)
    if not release.source:
        raise UnreadableError(
            f"the files of {release.label} are not here: {release.why}",
            hint="restore the directory that it was published to, or name another source of its files",
        )
    if release.endpoint and release.endpoint.rstrip("/") != endpoint.rstrip("/"):
        raise UnreadableError(
            f"{release.label} was published at {quoted(release.endpoint)}, which is not the Hub",
            hint=f"if you trust that server, add: --endpoint {release.endpoint}",
        )
    return release.source


def refuse_other(release: Release, checkpoint: Checkpoint, digests: Mapping[str, str]) -> None:
    """Make sure that ``checkpoint`` has the files of ``release``, in the sizes of its manifest; ``digests``
    (path -> sha256), as far as they are known, must be those of the manifest too.

    Raises:
        ReleaseRefusedError: a file is missing, another one, or not in the manifest.
    """
    for path, stated in sorted(release.manifest.files.items()):
        size, found = checkpoint.files.get(path), digests.get(path, stated.sha256)
        if size is None:
            raise _refused(release, checkpoint, path, "is missing, or no file")
        if size != stated.size:
            how = f"has {size:,} bytes, and its manifest says {stated.size:,}"
            raise _refused(release, checkpoint, path, how)
        if found != stated.sha256:
            how = f"has the sha256 {found[:12]}…, and its manifest says {stated.sha256[:12]}…"
            raise _refused(release, checkpoint, path, how)
    extra = sorted(checkpoint.files.keys() - release.manifest.files.keys() - set(manifests.UNLISTED))
    if extra and checkpoint.opener is None:  # a hub adds files of its own
        raise _refused(release, checkpoint, extra[0], "is not in its manifest")


def _refused(release: Release, checkpoint: Checkpoint, path: str, how: str) -> ReleaseRefusedError:
    return ReleaseRefusedError(
        f"{release.label}: {quoted(path)} of {quoted(checkpoint.source)} {how}",
        hint="a published version never changes: restore the file, or release the version again elsewhere",
    )
