"""Digests: what binds a check to the bytes and the facts that it was made for.

Evidence counts only for the checkpoint and the facts that it names. Two digests say which:

* ``checkpoint_digest``: every file that an engine reads, ``config.json`` included;
* ``basis_digest``: the resolved facts that a check depends on. Prose, claims, caveats and waivers are left
out, because a
  typo in a caveat must not void a run on eight GPUs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.checkpoint.content import open_regular

if TYPE_CHECKING:
    from zoo.recipe.model import Recipe

# Kinds of declared files that no engine reads: they may change without making evidence stale.
_NOT_READ = frozenset({"document"})
# Where a value comes from is no fact that a check depends on; the value itself is.
_ORIGINS = frozenset({"assumed", "assumed_from"})
_LABELS = frozenset({"target", "profile", "name"})
_EXACT_INTEGERS = 2**53
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileDigest:
    """One file: ``path`` below the checkpoint folder (POSIX), ``size`` in bytes, ``sha256`` in lower-case
    hex."""

    path: str
    size: int
    sha256: str


def canonical_json(value: Any) -> bytes:
    """The one JSON text of ``value``: sorted keys, no spaces, UTF-8. A whole float is written as an integer
    (``1.0`` and ``1`` are the same fact in YAML, JSON and every config reader).

    Raises:
        ValueError: NaN, infinity or half of a surrogate pair, which JSON cannot say.
        TypeError: a value or key of a type that JSON does not have.
    """
    plain = _plain(value)
    return json.dumps(
        plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def sha256_hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """The sha256 of a small file. (Weights are hashed by ``zoo.checkpoint.scan``, which reads them only
    once.)

    Raises:
        OSError: it cannot be read, or is not a regular file.
    """
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def checkpoint_digest(files: Iterable[FileDigest]) -> str:
    """The digest of a checkpoint: sha256 of the canonical JSON list of ``{path, size, sha256}``, sorted by
    path.

    Raises:
        ValueError: no files, or two with one path.
    """
    listed = sorted((asdict(file) for file in files), key=lambda file: str(file["path"]))
    if not listed:
        raise ValueError("a checkpoint without files has no digest")
    if len({file["path"] for file in listed}) != len(listed):
        raise ValueError("two files of the checkpoint have one path")
    return sha256_hex(canonical_json(listed))


def engine_digest(recipe: Recipe, declared: Iterable[FileDigest]) -> str:
    """The checkpoint digest of a recipe's files: those that an engine reads, which is all but the documents.

    Raises:
        ValueError: none of them is there.
    """
    return checkpoint_digest(engine_files(recipe, declared))


def engine_files(recipe: Recipe, declared: Iterable[FileDigest]) -> list[FileDigest]:
    """The files of a recipe that an engine reads."""
    kinds = recipe.checkpoint.files
    return [file for file in declared if kinds[file.path] not in _NOT_READ]


def basis_digest(
    recipe: Recipe,
    profile_or_trace: Mapping[str, Any] | None,
    checkpoint_digest: str,
    settings: Mapping[str, Any],
) -> str:
    """The digest of what a check depends on: the target and its revision, the draft, the files that an engine
    reads, the one profile (for replay, the trace), and the settings of the check.
    """
    draft = {key: value for key, value in recipe.data["draft"].items() if key not in _ORIGINS}
    spec = recipe.checkpoint
    facts = {
        "target": _unlabelled(recipe.target.data),
        "draft": draft,
        "checkpoint": {
            "family": spec.family,
            "tensors": spec.tensors,
            "dtype": spec.dtype,
            "files": {name: kind for name, kind in spec.files.items() if kind not in _NOT_READ},
            "digest": checkpoint_digest,
        },
        "basis": None if profile_or_trace is None else _unlabelled(profile_or_trace),
        "settings": dict(settings),
    }
    return sha256_hex(canonical_json(facts))


def _unlabelled(data: Mapping[str, Any]) -> dict[str, Any]:
    """The facts without the format version and the name of the file: renaming a profile changes nothing that
    runs."""
    return {key: value for key, value in data.items() if key not in _LABELS}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key that is not text")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_INTEGERS:
        return int(value)
    return value
