"""The manifest of a release: what it is, and the sha256 of every file in it.

It holds no time and no path of a machine, so that the same release gives the same bytes wherever it is
made. Its schema is ``zoo/schemas/release-manifest-1.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo import __version__
from zoo.checkpoint.jsonfile import MalformedJson, decode
from zoo.digests import FileDigest, canonical_json, engine_digest, sha256_hex
from zoo.errors import TargetUnusableError
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.release.gates import Gate

SCHEMA = "release-manifest/1"
NAME = "manifest.json"
# How the release came to be (zoo.trust.provenance), and the signature over all of it (zoo.trust.signing).
PROVENANCE = "provenance.intoto.jsonl"
SIGNATURE = "model.sig"
# What no manifest can list.
UNLISTED = (NAME, SIGNATURE)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest and the very bytes that it was read from, or will be written as."""

    document: Mapping[str, Any]
    raw: bytes

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def version(self) -> str:
        return str(self.document["version"])

    @property
    def files(self) -> Mapping[str, FileDigest]:
        """Every file of the release but the manifest itself, by path."""
        return {
            entry["path"]: FileDigest(entry["path"], entry["size"], entry["sha256"])
            for entry in self.document["files"]
        }

    @property
    def sha256(self) -> str:
        return sha256_hex(self.raw)


def build(
    recipe: Recipe,
    declared: Iterable[FileDigest],
    texts: Mapping[str, bytes],
    gates: Iterable[Gate],
    unchecked: Mapping[str, str],
    standin: bool,
) -> Manifest:
    """The manifest of a release of ``recipe``: the ``declared`` files of the checkpoint and the ``texts``
    that the tool wrote."""
    declared = list(declared)
    written = [FileDigest(path, len(text), sha256_hex(text)) for path, text in texts.items()]
    document = {
        "schema": SCHEMA,
        "name": recipe.name,
        "version": recipe.version,
        "repo": recipe.repo,
        "target": {
            "name": recipe.target.name,
            "repo": recipe.target.repo.path,
            "revision": recipe.target.repo.revision,
        },
        "files": [
            {"path": file.path, "size": file.size, "sha256": file.sha256}
            for file in sorted([*declared, *written], key=lambda each: each.path)
        ],
        "checkpoint_digest": engine_digest(recipe, declared),
        "recipe_digest": sha256_hex(canonical_json(recipe.data)),
        "gates": {
            gate.name: {"outcome": str(gate.outcome), "asked": gate.asked, "reason": gate.reason}
            for gate in gates
        },
        "unchecked": dict(unchecked),
        "standin": standin,
        "tool": f"draft-zoo {__version__}",
    }
    text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=True) + "\n"
    return Manifest(document, text.encode())


def parse(raw: bytes, place: str) -> Manifest:
    """The manifest in ``raw``, which was found at ``place``.

    Raises:
        TargetUnusableError: it is not a release-manifest/1.
    """
    from zoo.schemas import validator

    try:
        document = decode(raw)
    except MalformedJson as error:
        problem = f"it is not JSON: {error.reason}"
    else:
        wrong = next(validator("release-manifest-1").iter_errors(document), None)
        found = Manifest(document, raw)
        if wrong is None and len(found.files) == len(document["files"]):
            return found
        problem = (
            f"{quoted(wrong.json_path)} is not what the schema says" if wrong else "it lists a file twice"
        )
    raise TargetUnusableError(
        f"{place} is not a manifest of a release: {problem}",
        hint="look at what lies there; if it is no release, move it away and run the command again",
    )


def first_difference(ours: Mapping[str, FileDigest], theirs: Mapping[str, FileDigest]) -> str | None:
    """The first path, in order, that one side lacks or whose bytes differ, with what differs; None if all
    agree."""
    for path in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(path), theirs.get(path)
        if mine is None or other is None:
            return f"{quoted(path)} is {'not in it' if other is None else 'missing here'}"
        if mine != other:
            return f"{quoted(path)} has sha256 {other.sha256[:12]}… there and {mine.sha256[:12]}… here"
    return None
