"""Which weights a target had: one digest over its safetensors files, for the record of a smoke test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.digests import canonical_json, sha256_hex
from zoo.errors import UnreadableError
from zoo.printable import quoted

if TYPE_CHECKING:
    from zoo.checkpoint.model import Checkpoint, WeightsFile

# Larger targets are known by their headers: names, shapes and places of all tensors, and no value of them.
WHOLE = 8 * 1024**3


def weights_of(checkpoint: Checkpoint, whole: int = WHOLE) -> dict[str, str]:
    """``weights_sha256``, and as ``weights_digest`` what it is made of: ``content`` where all files together
    have at most ``whole`` bytes, else ``headers``. Nothing where there are no such files.

    The digest is the sha256 of the canonical JSON list of ``{name, size, sha256}``, by name, with the sha256
    of the whole file or of its header. A file that was read before and has not changed is not read again.

    Raises:
        UnreadableError: a file cannot be read.
    """
    files = sorted(checkpoint.weights, key=lambda file: file.name)
    if not files:
        return {}
    kind = "content" if sum(file.size for file in files) <= whole else "headers"
    sums = (
        _contents(checkpoint)
        if kind == "content"
        else {each.name: _header(checkpoint, each) for each in files}
    )
    listed = [{"name": each.name, "size": each.size, "sha256": sums[each.name]} for each in files]
    return {"weights_sha256": sha256_hex(canonical_json(listed)), "weights_digest": kind}


def _contents(checkpoint: Checkpoint) -> dict[str, str]:
    from zoo.checkpoint.cache import user_cache
    from zoo.checkpoint.scan import DeepPass, scan_checkpoint

    names = [file.name for file in checkpoint.weights]
    scan = scan_checkpoint(checkpoint, names, DeepPass(cache=user_cache()))
    return {name: each.sha256 for name, each in scan.files.items()}


def _header(checkpoint: Checkpoint, weights: WeightsFile) -> str:
    """The sha256 of the bytes before the data."""
    if weights.header is None:
        raise UnreadableError(
            f"{quoted(weights.name)} of the target has no header that can be read",
            hint="give the folder of the target: --target FOLDER",
        )
    try:
        with open_regular(checkpoint.root / weights.name) as file:
            return sha256_hex(read_up_to(file, weights.header.data_start))
    except OSError as error:
        raise UnreadableError(
            f"{quoted(weights.name)} of the target cannot be read ({error.strerror or error})",
            hint="check the permissions of the file",
        ) from error
