"""Which recipes a change affects, and why: through ``extends``, targets, profiles, the files that they name,
templates and ``release/``.

Every reference is read from the file that makes it, by the reader of recipes. Only files that could hold a
reference are parsed: a name stands in a file as it is written, unless the file has a backslash (an escape).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.ci.model import Cause, ChangedFile
from zoo.ci.names import DEPTH, folded
from zoo.errors import UnreadableError
from zoo.recipe import yamltree
from zoo.recipe.load import file_names, recipe_names, resolved
from zoo.recipe.names import is_name
from zoo.results import Where
from zoo.workspace import Zoo

_FOLDERS = ("recipes", "templates", "release")


def affected(
    zoo: Zoo, changed: Iterable[ChangedFile], references: References | None = None
) -> dict[str, tuple[Cause, ...]]:
    """The names of the recipes that ``changed`` affects, sorted, each with its causes. A recipe that was
    removed is one of them."""
    references = references or References(zoo)
    causes: dict[str, dict[Cause, None]] = {}
    for file in changed:
        for name, cause in _of_file(references, file.path):
            causes.setdefault(name, {})[cause] = None
    return {name: tuple(causes[name]) for name in sorted(causes)}


def of_repository(zoo: Zoo, repo: str) -> list[str]:
    """The recipes that release to the repository OWNER/NAME of a hub."""
    return References(zoo).of_repository(repo)


def is_of_zoo(path: str) -> bool:
    """Whether a file is part of the zoo by its place, on any file system: Recipes/ is recipes/ on some."""
    return folded(path.partition("/")[0]) in _FOLDERS


def _of_file(references: References, path: str) -> Iterator[tuple[str, Cause]]:
    match path.split("/"):
        case ["recipes", file] if file.endswith(".yaml"):
            name = file.removesuffix(".yaml")
            yield name, Cause(path, "recipe")
            for child in references.children(name):
                yield child, Cause(path, "extends")
        case ["recipes", "targets" | "profiles" as folder, file] if file.endswith(".yaml"):
            for name in references.using(folder, file.removesuffix(".yaml")):
                yield name, Cause(path, folder.removesuffix("s"))
        case ["templates", *_]:
            for name in references.names:
                yield name, Cause(path, "template")
        case ["release", "targets", target, *_]:
            for name in references.using("targets", target):
                yield name, Cause(path, "release")
        case ["release", name, *_]:
            if name in references.names:
                yield name, Cause(path, "release")
        case _:
            for name in references.naming(path):
                yield name, Cause(path, "file")


class References:
    """Who refers to what. Each file is read once, and parsed at most once."""

    def __init__(self, zoo: Zoo) -> None:
        self.names = recipe_names(zoo)
        self._zoo = zoo
        self._texts: dict[str, bytes] = {}
        self._parents: dict[str, str] = {}
        self._data: dict[str, dict[str, Any] | None] = {}
        self._named: dict[str, frozenset[str]] = {}

    def children(self, name: str) -> list[str]:
        """The recipes that extend ``name``, directly or not."""
        found = [name]
        for each in found:  # grows while it is walked
            found += [
                child
                for child in self.names
                if child not in found and self._may_hold(child, each) and self._parent(child) == each
            ]
        return found[1:]

    def using(self, folder: str, name: str) -> list[str]:
        """The recipes with this target, or that are served by this profile."""
        return [each for each in self.may_name([name]) if self._refers(each, folder, name)]

    def naming(self, path: str) -> list[str]:
        """The recipes that name a file, or a folder above it, themselves or in their target or profiles."""
        last = [place.rpartition("/")[2] for place in _above(path)]
        found = {each for each in self.may_name(last) if self._names(each, path)}
        for folder, name in self._shared:
            key = f"{folder}/{name}"
            if any(self._may_hold(key, each) for each in last) and self._names(key, path):
                found.update(self.using(folder, name))
        return sorted(found)

    @cached_property
    def _shared(self) -> list[tuple[str, str]]:
        """Every target and profile: folder and name."""
        return [
            (folder, name)
            for folder in ("targets", "profiles")
            for name in file_names(self._zoo, self._zoo.recipes / folder)
        ]

    def may_name(self, words: list[str]) -> list[str]:
        """The recipes in which one of ``words`` stands, or in one that they extend."""
        direct = [each for each in self.names if any(self._may_hold(each, word) for word in words)]
        return sorted({*direct, *(child for each in direct for child in self.children(each))})

    def of_repository(self, repo: str) -> list[str]:
        """The recipes that release to the repository OWNER/NAME of a hub."""
        return [name for name in self.may_name([repo]) if self.repository(name) == repo]

    def version(self, name: str) -> str:
        """The version that the recipe states, "" if that cannot be told."""
        return str((self._resolved(name) or {}).get("version", ""))

    def line(self, name: str, key: str) -> Where:
        """Where the file of the recipe states ``key`` or, if it inherits that, whom it extends."""
        tree = self._document(name)
        keys = tree.keys if isinstance(tree, yamltree.Mapping) else {}
        return keys.get(key) or keys.get("extends") or Where(f"recipes/{name}.yaml")

    def files(self, name: str) -> set[str]:
        """The files and folders that the recipe rests on, as far as the texts name them; from the root of
        the zoo. Some may not be there."""
        data = self._resolved(name) or {}
        served = data.get("serve")
        named = [("targets", data.get("target"))]
        named += [("profiles", each) for each in served] if isinstance(served, list) else []
        shared = [f"{folder}/{each}" for folder, each in named if isinstance(each, str) and is_name(each)]
        keys = (name, *self._parents_of(name), *shared)
        found = {f"recipes/{key}.yaml" for key in keys} | self._named_in(name)
        for key in shared:
            found |= self._named_in(key)
        released = f"release/{name}"
        return found | {f"{released}/log.jsonl", f"{released}/{self.version(name)}"}

    def _parents_of(self, name: str) -> list[str]:
        """The recipes that this one extends, the nearest first."""
        found = [name]
        while is_name(parent := self._parent(found[-1])) and parent not in found:
            found.append(parent)
        return found[1:]

    def repository(self, name: str) -> str:
        """What the recipe names as its repository, "" if that cannot be told."""
        data = self._resolved(name) or {}
        return str(data.get("repo", ""))

    def _refers(self, name: str, folder: str, wanted: str) -> bool:
        data = self._resolved(name)
        if data is None:  # it cannot be used, which verifying it says
            return True
        served = data.get("serve")
        if folder == "profiles":
            return isinstance(served, list) and wanted in served
        return bool(data.get("target") == wanted)

    def _names(self, key: str, path: str) -> bool:
        """Whether a text of a recipe, target or profile names ``path``, a folder above it or, where ``path``
        took the place of a folder (a link, a submodule), what was below."""
        named = self._named_in(key)
        above = {*_above(path)} - {*_FOLDERS}
        return not named.isdisjoint(above) or any(each.startswith(f"{path}/") for each in named)

    def _named_in(self, key: str) -> frozenset[str]:
        """The places that a recipe, with what it extends, a target or a profile names."""
        if key not in self._named:
            self._named[key] = _places(self._document(key) if "/" in key else self._resolved(key))
        return self._named[key]

    def _may_hold(self, key: str, word: str) -> bool:
        text = self._text(key)
        return os.fsencode(word) in text or b"\\" in text

    def _parent(self, name: str) -> str:
        if name not in self._parents:
            tree, _ = yamltree.parse(self._text(name), name)
            node = None if tree is None else tree.entries.get("extends")
            self._parents[name] = node.text if isinstance(node, yamltree.Scalar) else ""
        return self._parents[name]

    def _resolved(self, name: str) -> dict[str, Any] | None:
        if name not in self._data:
            try:
                self._data[name] = resolved(self._zoo, name)
            except UnreadableError:  # which verifying it says
                self._data[name] = None
        return self._data[name]

    def _document(self, key: str) -> Any:
        tree, _ = yamltree.parse(self._text(key), f"recipes/{key}.yaml")
        return tree

    def _text(self, key: str) -> bytes:
        """The bytes of ``recipes/KEY.yaml``; none where it cannot be read."""
        if key not in self._texts:
            self._texts[key] = _read(self._zoo, self._zoo.recipes / f"{key}.yaml")
        return self._texts[key]


def _read(zoo: Zoo, path: Path) -> bytes:
    if not zoo.holds(path):
        return b""
    try:
        with open_regular(path) as file:
            return read_up_to(file, yamltree.MAX_BYTES + 1)
    except OSError:
        return b""


def _above(path: str) -> list[str]:
    """``path`` and the folders above it, if they are not too many (V014)."""
    parts = path.split("/")
    if len(parts) > DEPTH:
        return [path]
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _places(value: Any) -> frozenset[str]:
    """What the texts in ``value`` may name: from the root of the zoo, or from recipes/."""
    return frozenset(
        posixpath.normpath(posixpath.join(start, text))
        for text in _texts(value)
        if text
        for start in ("", "recipes")
    )


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case yamltree.Scalar():
            yield value.text
        case yamltree.Mapping():
            yield from _texts(list(value.entries.values()))
        case yamltree.Sequence():
            yield from _texts(value.items)
        case dict():
            yield from _texts(list(value.values()))
        case list():
            for each in value:
                yield from _texts(each)
