"""Files that a verdict rests on and that a clone of the next commit would lack: they are not in git's index,
because nobody added them or a .gitignore names them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from zoo.ci.affected import References
from zoo.workspace import Zoo

# Of those that are looked at, and of those that are kept: a folder may hold anything.
_LOOKED, MOST = 10_000, 1_000
_NEVER = ("", ".", "recipes", "release", "templates")


def untracked(
    zoo: Zoo, names: Iterable[str], references: References, index: Collection[str]
) -> tuple[str, ...]:
    """The files, by path, at most :data:`MOST`, that ``names``, recipes of the zoo, rest on, and that are not
    in ``index``."""
    places = {zoo.shown(zoo.settings_file), "templates/card.md.j2"}
    for name in names:
        if name in references.names:
            places |= references.files(name)
    found: set[str] = set()
    for place in sorted(places - {*_NEVER}):
        found.update(path for path in _files(zoo.root, place) if path not in index)
    return tuple(sorted(found)[:MOST])


def _files(root: Path, place: str) -> Iterator[str]:
    """The file ``place``, or every file in the folder; nothing outside of the zoo, and nothing that lies
    behind a link."""
    here = root / place
    try:
        inside = not place.startswith(("/", "../")) and here.resolve().is_relative_to(root.resolve())
        is_file = inside and here.is_file()
    except (OSError, ValueError):  # any text of a recipe may be a name: too long, a NUL, half a surrogate
        return
    if is_file:
        yield place
    if is_file or not inside:
        return
    left = _LOOKED
    for folder, _, names in os.walk(here):
        below = Path(folder).relative_to(root).as_posix()
        yield from (f"{below}/{name}" for name in names[:left])
        left -= len(names)
        if left <= 0:
            return
