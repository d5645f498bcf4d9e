"""Patterns of ``.gitattributes`` and ``.gitignore``: which files go to LFS, and which a commit leaves out.

The forms that such files use in practice: names, ``*.ext``, ``folder/``, ``path/*.ext``, ``!`` in a
``.gitignore``. (gitattributes(5), gitignore(5).)
"""

from __future__ import annotations

import base64
import binascii
from fnmatch import fnmatchcase
from itertools import accumulate

from zoo.hub.lfs import REGULAR_LIMIT

_LFS_SUFFIXES = (
    "7z arrow bin bz2 ckpt ftz gguf gz h5 joblib mlmodel model msgpack npy npz onnx ot parquet pb pickle pkl "
    "pt pth rar safetensors tar tflite tgz wasm xz zip zst"
).split()
# The first commit of every repository of the Hub is such a file.
DEFAULT_ATTRIBUTES = "".join(
    f"*.{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in _LFS_SUFFIXES
).encode()


def upload_mode(path: str, size: int, sample: object, attributes: bytes) -> str:
    """``"lfs"`` or ``"regular"``: what ``.gitattributes`` says; else large or binary files go to LFS."""
    stated = None
    for line in attributes.decode(errors="replace").splitlines():
        pattern, *values = line.split() or [""]
        if pattern and not pattern.startswith("#") and _matches(pattern, path):
            for value in values:
                if value.startswith("filter=") or value in ("-filter", "!filter"):
                    stated = value == "filter=lfs"
    if stated is None:
        stated = size > REGULAR_LIMIT or _is_binary(sample)
    return "lfs" if (stated or size > REGULAR_LIMIT) and size > 0 else "regular"


def is_ignored(path: str, ignore: bytes) -> bool:
    """Whether a ``.gitignore`` leaves a file, or a folder above it, out."""
    ignored = False
    for line in ignore.decode(errors="replace").splitlines():
        pattern = line.rstrip()
        if not pattern or pattern.startswith("#"):
            continue
        wanted = not pattern.startswith("!")
        pattern = pattern.removeprefix("!")
        above = list(accumulate(path.split("/"), lambda head, part: f"{head}/{part}"))
        candidates = above[:-1] if pattern.endswith("/") else above
        if any(_matches(pattern.rstrip("/"), candidate) for candidate in candidates):
            ignored = wanted
    return ignored


def _matches(pattern: str, path: str) -> bool:
    """A pattern without a slash is about the last part of the path, any other about the path as a whole."""
    if "/" in pattern:
        return fnmatchcase(path, pattern.lstrip("/").replace("**/", "*"))
    return fnmatchcase(path.rpartition("/")[2], pattern)


def _is_binary(sample: object) -> bool:
    """Whether the first bytes (base64) are no text, by git's own rule: a NUL among them."""
    try:
        return isinstance(sample, str) and b"\0" in base64.b64decode(sample)
    except (ValueError, binascii.Error):
        return False
