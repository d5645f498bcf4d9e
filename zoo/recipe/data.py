"""Data manifests: which conversations a set of data holds, as hashes. JSON files beside the recipe, schema
``data-manifest/1``.

With the manifest of the training data and one of a benchmark, "disjoint from" is a comparison of two lists;
neither needs to show a word of its data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from zoo.checkpoint.jsonfile import JsonCodes, read_json
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.recipe.validate import pointer
from zoo.results import Finding, Where
from zoo.schemas import validator
from zoo.workspace import Zoo

# 900,000 conversations.
SIZE_LIMIT = 64 * 1024 * 1024
_CODES = JsonCodes("R041", "R041", "R041")


class DataManifest(NamedTuple):
    """One manifest. ``file`` as a person would write it, ``sha256`` of the file itself."""

    file: str
    sha256: str
    name: str
    normalisation: str
    conversations: frozenset[str]


@dataclass(frozen=True)
class DataManifests:
    """The manifests that a recipe names, as far as they can be read: of the training data, and of what it is
    disjoint from (JSON pointer of the entry in the recipe -> manifest)."""

    own: DataManifest | None = None
    others: Mapping[str, DataManifest] = field(default_factory=dict)

    def unchecked(self, recipe: Recipe) -> list[str]:
        """The pointers of the entries of ``disjoint_from`` that cannot be compared."""
        own = self.own
        return [
            entry
            for entry, _ in _entries(recipe)
            if own is None
            or entry not in self.others
            or self.others[entry].normalisation != own.normalisation
        ]


def load_data(zoo: Zoo, recipe: Recipe) -> tuple[DataManifests, tuple[Finding, ...]]:
    """The manifests, and what is wrong with those that are named (code R041)."""
    findings: list[Finding] = []
    own, others = None, dict[str, DataManifest]()
    named = recipe.training.data.get("manifest")
    if named is not None:
        own, found = _load(zoo, recipe, named, "/training/data/manifest")
        findings.extend(found)
    for entry, file in _entries(recipe):
        if file is not None:
            other, found = _load(zoo, recipe, file, f"{entry}/manifest")
            findings.extend(found)
            if other is not None:
                others[entry] = other
    return DataManifests(own, others), tuple(findings)


def _entries(recipe: Recipe) -> Iterator[tuple[str, str | None]]:
    """The entries of ``disjoint_from``: the JSON pointer of each and the manifest that it names, if any."""
    for index, entry in enumerate(recipe.training.data.get("disjoint_from", ())):
        yield f"/training/data/disjoint_from/{index}", None if isinstance(entry, str) else entry["manifest"]


def _load(zoo: Zoo, recipe: Recipe, name: str, place: str) -> tuple[DataManifest | None, tuple[Finding, ...]]:
    path = zoo.recipes / name
    file, where = zoo.shown(path), recipe.where(place)
    if not path.resolve().is_relative_to(zoo.recipes.resolve()) or not path.is_file():
        message = f"data manifest {quoted(file)} is not there"
        return None, (Finding(message, "put the file there, or remove the key", where, code="R041"),)
    document, problems = read_json(path, file, _CODES, size_limit=SIZE_LIMIT)
    findings = [replace(each, related=(where,)) for each in problems]
    if document is not None:
        for error in validator("data-manifest-1").iter_errors(document):
            at = Where(file, pointer=pointer(error.absolute_path) or None)
            message = f"not a data manifest: {quoted(error.message, 200)}"
            findings.append(Finding(message, "see docs/recipes.md", at, (where,), code="R041"))
            break  # a wrong list has as many errors as entries
    if document is None or findings:
        return None, tuple(findings)
    from zoo.digests import sha256_file

    conversations = frozenset(document["conversations"])
    name, normalisation = document["name"], document["normalisation"]
    return DataManifest(file, sha256_file(path), name, normalisation, conversations), ()
