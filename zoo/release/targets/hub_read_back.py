"""Reading a commit of a hub back, as a stranger would, and comparing it with the manifest in it."""

from __future__ import annotations

from collections.abc import Mapping

from zoo.digests import sha256_hex
from zoo.errors import ReleaseRefusedError
from zoo.printable import quoted
from zoo.release import manifest as manifests
from zoo.release.manifest import Manifest
from zoo.release.paths import SIZE_LIMIT
from zoo.release.targets.hub_client import HubClient
from zoo.release.targets.hub_session import HubTroubleError
from zoo.release.targets.hub_tree import CARD, REGULAR_LIMIT, Stored, blob_id, first_difference, listed
from zoo.remote.address import Remote
from zoo.remote.limits import TransientError
from zoo.sources import Sources


def read_back(client: HubClient, ref: str, *, published: bool) -> Manifest:
    """The manifest at the commit ``ref``, whose files are exactly those that it lists: the small ones are
    read again, of the large ones the hub states the sha256. The headers of the weights are read by range.
    ``published``: on a branch, where a hub must have read the card's metadata.

    Raises ReleaseRefusedError: a file is missing, altered or not listed; the message names it.
    """
    raw = client.read(ref, manifests.NAME, SIZE_LIMIT)
    if raw is None:
        raise altered(client, ref, f"{quoted(manifests.NAME)} is missing")
    manifest = manifests.parse(raw, f"{client.repo}@{ref}")
    files, stored = listed(manifest), client.tree(ref)
    regular = {manifests.NAME: raw, **_regular(client, ref, manifest, stored)}
    oids = {path: blob_id(content) for path, content in regular.items()}
    if (difference := first_difference(files, stored, oids)) is not None:
        raise altered(client, ref, difference)
    if published and CARD in files:
        head = client.head(ref)
        if head is None or not head.has_metadata:
            raise altered(client, ref, f"the hub reads no metadata in {quoted(CARD)}")
    _refuse_strange_headers(client, ref, manifest)
    return manifest


def altered(client: HubClient, ref: str, how: str) -> ReleaseRefusedError:
    """The error for a commit that does not hold what it should."""
    return ReleaseRefusedError(
        f"{client.repo} at {ref[:12]}: {how}",
        hint=f"look at {client.endpoint}/{client.repo}/tree/{ref}, mend what is in the way, and run the "
        "same command again; what is tagged never changes, and needs a new version",
    )


def _regular(
    client: HubClient, ref: str, manifest: Manifest, stored: Mapping[str, Stored]
) -> dict[str, bytes]:
    """The files that the hub keeps as they are, read again."""
    found = {}
    for path, file in sorted(manifest.files.items()):
        if path not in stored or stored[path].sha256:
            continue
        content = client.read(ref, path, REGULAR_LIMIT)
        if content is None or sha256_hex(content) != file.sha256:
            raise altered(client, ref, f"{quoted(path)} is not what its manifest says")
        found[path] = content
    return found


def _refuse_strange_headers(client: HubClient, ref: str, manifest: Manifest) -> None:
    """Raises ReleaseRefusedError: what is served of a weight file does not begin with a header."""
    weights = {path for path in manifest.files if path.endswith(".safetensors")}
    if not weights:
        return

    def look() -> set[str]:
        try:
            with Sources(Remote(client.endpoint, client.limit)) as sources:
                there = sources.open(f"hf://{client.repo}@{ref}").weights
                return {file.name for file in there if file.header is not None}
        except TransientError as error:
            # It gives up sooner than a release does, e.g. on a hub that is being started again.
            raise HubTroubleError(error.message, after=error.after) from None

    if lacking := sorted(weights - client.ask(f"the weights of {ref[:12]}", look)):
        raise altered(client, ref, f"the header of {quoted(lacking[0])} cannot be read back")
