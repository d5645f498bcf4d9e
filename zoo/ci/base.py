"""The zoo as it was at the base of a change, as far as something asks for it: in a private folder, file by
file, out of git. Nothing is checked out, and no link is made."""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from zoo.ci.git import Entry, Repository, below
from zoo.errors import UnreadableError
from zoo.printable import quoted
from zoo.recipe.load import extended, load_recipe, resolved
from zoo.recipe.model import Recipe
from zoo.workspace import Zoo, find_zoo

# More than a draft of an example has; the weights of a real one are not in git.
_FOLDER_LIMIT = 200
SETTINGS = ("zoo.toml", "pyproject.toml")


class BaseZoo:
    """The zoo at ``commit`` of ``repository``. ``entries``: all its files. ``later``: the same zoo where its
    branch is now, if that is further, and ``later.name`` what the branch is called."""

    def __init__(
        self, repository: Repository, commit: str, *, name: str = "", later: BaseZoo | None = None
    ) -> None:
        self.commit = commit
        self.name = name
        self.later = later
        self.entries: Mapping[str, Entry] = repository.entries(commit)
        self._repository = repository
        self._folder = tempfile.TemporaryDirectory(prefix="zoo-ci-", ignore_cleanup_errors=True)
        self._root = Path(self._folder.name).resolve()
        self._written: set[str] = set()
        self.zoo = self._settings()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def policy(self, head: Zoo) -> Zoo:
        """The zoo of the change under the settings of the base: a change cannot say itself whom to trust and
        which servers to contact."""
        return replace(self.zoo, root=head.root, settings_file=head.settings_file, trust_root=self._root)

    def read(self, path: str) -> bytes | None:
        """The content of a file, or None where the base has no regular file of this name."""
        entry = self.entries.get(path)
        return self._repository.content(entry) if entry is not None and entry.regular else None

    def need(self, path: str) -> bool:
        """Put a file into the folder. Returns whether the base has it."""
        if path in self._written:
            return True
        # A tree that somebody made by hand can hold such names.
        content = None if {"", ".", ".."} & set(path.split("/")) else self.read(path)
        if content is None:
            return False
        file = self._root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        self._written.add(path)
        return True

    def recipe(self, name: str) -> Recipe | None:
        """The recipe of this name with all that it refers to, or None where the base has none that can be
        used."""
        data = self._resolved(name)
        if data is None:
            return None
        served = data.get("serve")
        wanted = [f"targets/{data.get('target')}"]
        wanted += [f"profiles/{each}" for each in served] if isinstance(served, list) else []
        for each in wanted:
            self.need(f"recipes/{each}.yaml")
        return load_recipe(self.zoo, name).recipe

    def _resolved(self, name: str) -> dict[str, Any] | None:
        """What the recipe says, with what it extends put into the folder, one after the other."""
        seen: list[str] = []
        each = name
        while each not in seen and self.need(f"recipes/{each}.yaml"):
            seen.append(each)
            parent = extended(self.zoo, each)
            if parent is None:
                return resolved(self.zoo, name)
            each = parent
        return None

    def release(self, name: str) -> bool:
        """Put the log of releases and every manifest of ``name`` into the folder. Returns whether there is a
        log."""
        for path in below(self.entries, f"release/{name}"):
            if path.endswith("/manifest.json"):
                self.need(path)
        return self.need(f"release/{name}/log.jsonl")

    def folder(self, path: str) -> Path | None:
        """The folder ``path`` (below the root) as it was, or None where git does not hold all of it."""
        inside = below(self.entries, path)
        if not inside or len(inside) > _FOLDER_LIMIT:
            return None
        try:
            for each in inside:
                self.need(each)
        except UnreadableError:
            return None
        return self._root / path

    def _settings(self) -> Zoo:
        """The settings; the defaults where the base was no zoo yet."""
        there = [name for name in SETTINGS if self.need(name)]
        zoo = find_zoo(self._root) if there else None
        if zoo is None or zoo.root != self._root:
            self._refuse_moved()
            return Zoo(self._root, self._root / SETTINGS[0])
        for signer in zoo.signers:
            if signer.key:
                self.need(posixpath.normpath(signer.key))
        return zoo

    def _refuse_moved(self) -> None:
        """A zoo that is new here has no signers yet. It must not be one that had some in a folder of its own.

        Raises UnreadableError: the change took the settings of such a folder away.
        """
        for path in self.entries:
            if path.endswith(f"/{SETTINGS[0]}") and not (self._repository.root / path).is_file():
                raise UnreadableError(
                    f"the base has the settings of its zoo in {quoted(path)}, and the change removes them",
                    hint="judge a move by hand: nothing says that both zoos trust the same people",
                )
