"""The comparison of two drafts from what their recipes, small files and headers say: a pure function."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from zoo.checkpoint.folder import CONFIG_NAME
from zoo.diff.model import (
    ABSENT,
    ConfigChange,
    Diff,
    FileChange,
    FileFact,
    Files,
    Inventory,
    NotCompared,
    Numbers,
    Pair,
    Side,
)
from zoo.diff.values import changes, same
from zoo.drafts.family import family_of
from zoo.drafts.keys import DIFFUSION, Keys, keys_of
from zoo.drafts.layouts import Layout, native
from zoo.drafts.names import explain
from zoo.release.paths import is_plot

# From the most that is known of a recipe to the least.
_DEPTHS = ("resolved", "recipe", "manifest")
_ADDED = frozenset(("manifest.json", "README.md", "notes.md", "provenance.intoto.jsonl", "model.sig"))
_MANIFEST_ONLY = "only what a manifest states was compared: a release does not keep its recipe"


def compare(a: Side, b: Side, numbers: Numbers | None = None) -> Diff:
    """What differs between ``a`` and ``b``; ``numbers``, where their bytes were read too."""
    depth = next((depth for depth in _DEPTHS if depth in a.facts and depth in b.facts), None)
    not_compared = list(_not_compared(a, b))
    if depth == "manifest":
        not_compared.append(NotCompared("recipe", _MANIFEST_ONLY, required=False))
    config = inventory = files = None
    if a.config is not None and b.config is not None:
        config = tuple(_config(a.config, b.config, as_text=not (a.implied or b.implied)))
    if a.tensors is not None and b.tensors is not None:
        inventory = paired(a, b)
    if a.files is not None and b.files is not None:
        files = _files(a, b, {pair.name_a for pair in inventory.pairs} if numbers and inventory else ())
    return Diff(
        a=a,
        b=b,
        level="header" if numbers is None else "deep",
        recipe=None if depth is None else tuple(changes(a.facts[depth], b.facts[depth])),
        config=config,
        inventory=inventory,
        files=files,
        numbers=numbers,
        not_compared=tuple(dict.fromkeys(not_compared)),
        notes=tuple(dict.fromkeys(_notes(a, b))),
    )


def paired(a: Side, b: Side) -> Inventory:
    """The tensors of both sides, which are known. One that only ``a`` has and one that only ``b`` has are a
    pair if one of the names is a foreign spelling of the other."""
    assert a.tensors is not None
    assert b.tensors is not None
    ours, theirs = a.tensors, b.tensors
    both = {name: name for name in ours if name in theirs}
    both |= _renamed(ours.keys() - both.keys(), theirs.keys() - both.keys())
    taken = set(both.values())
    return Inventory(
        pairs=tuple(Pair(name, both[name], ours[name], theirs[both[name]]) for name in ours if name in both),
        only_a={name: form for name, form in ours.items() if name not in both},
        only_b={name: form for name, form in theirs.items() if name not in taken},
        metadata=() if a.implied or b.implied else tuple(changes(dict(a.metadata), dict(b.metadata))),
    )


def _renamed(only_a: Collection[str], only_b: Collection[str]) -> dict[str, str]:
    """Names of ``only_a`` and what ``only_b`` calls the same tensors."""
    found = _natives(only_a, only_b)
    back = _natives(set(only_b) - set(found.values()), set(only_a) - found.keys())
    return found | {ours: theirs for theirs, ours in back.items()}


def _natives(names: Iterable[str], expected: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        foreign = explain(name, expected)
        if foreign is not None and foreign.native is not None and foreign.native not in taken:
            found[name] = foreign.native
            taken.add(foreign.native)
    return found


def _config(a: Mapping[str, Any], b: Mapping[str, Any], *, as_text: bool) -> Iterator[ConfigChange]:
    """The keys that differ. First as an engine sees them, whatever the layout; then, if both are ``as_text``
    in a file, what only that shows, such as a null or a key that is stated twice."""
    ours, theirs = native(a), native(b)
    keys, listed = _keys(ours, theirs)
    stated, other = keys.stated(ours.config), keys.stated(theirs.config)
    seen: set[str] = set()
    for key in sorted(stated.keys() | other.keys()):
        one, two = stated.get(key), other.get(key)
        pointers = (
            None if one is None else ours.pointer(one[0].pointer) or None,
            None if two is None else theirs.pointer(two[0].pointer) or None,
        )
        value = ABSENT if one is None else one[0].value
        now = ABSENT if two is None else two[0].value
        moved = same(value, now)
        # Where a value stands is of a file: what a recipe describes stands nowhere.
        if moved and (pointers[0] == pointers[1] or not as_text):
            continue
        seen.update(pointer for pointer in pointers if pointer is not None)
        yield ConfigChange(key, *pointers, value, now, keys.is_read(key) if listed else None, moved)
    for change in changes(a, b, leaves=True) if as_text and ours.name == theirs.name else ():
        if not _is_below(change.pointer, seen):
            key = change.pointer.removeprefix("/").replace("/", ".")
            where = [None if value is ABSENT else change.pointer for value in (change.a, change.b)]
            read = keys.is_read(key) if listed else None
            yield ConfigChange(key, where[0], where[1], change.a, change.b, read)


def _is_below(pointer: str, places: Collection[str]) -> bool:
    """Whether ``pointer`` is one of ``places``, or leads into one."""
    while pointer and pointer not in places:
        pointer = pointer.rpartition("/")[0]
    return bool(pointer)


def _keys(ours: Layout, theirs: Layout) -> tuple[Keys, bool]:
    """The keys that engines read of such a draft, and whether anybody has listed them."""
    for layout in (theirs, ours):
        family = family_of(layout.config)
        keys = keys_of(family.name) if family is not None else None
        if keys is not None:
            return keys, True
    return DIFFUSION, False


def _files(a: Side, b: Side, read: Collection[str]) -> Files:
    """``read``: the tensors whose bytes were compared, which is all of a weights file that matters."""
    assert a.files is not None
    assert b.files is not None
    changed, alike, unknown = list[FileChange](), list[str](), list[str]()
    # What a release adds by itself is no difference to the draft that was released.
    one_is_released = (a.kind == "release") != (b.kind == "release")
    for path in sorted(a.files.keys() | b.files.keys()):
        one, two = a.files.get(path), b.files.get(path)
        if one is None or two is None:
            if one_is_released and (path in _ADDED or is_plot(path)):
                continue
            if (a if one is None else b).listed:
                changed.append(FileChange(path, one, two))
        elif one.size != two.size or _other_digest(one, two):
            changed.append(FileChange(path, one, two))
        elif one.sha256 is not None and two.sha256 is not None:
            alike.append(path)
        elif not (read and path.endswith(".safetensors")):
            unknown.append(path)
    return Files(tuple(changed), tuple(alike), tuple(unknown))


def _other_digest(one: FileFact, two: FileFact) -> bool:
    return one.sha256 is not None and two.sha256 is not None and one.sha256 != two.sha256


def _not_compared(a: Side, b: Side) -> Iterator[NotCompared]:
    neither = all(side.files is not None and CONFIG_NAME not in side.files for side in (a, b))
    for part in ("inventory", "files") if neither else ("config", "inventory", "files"):
        for side in (a, b):
            if part in side.missing:
                yield NotCompared(part, f"{side.name}: {side.missing[part]}")
    for side, other in ((a, b), (b, a)):
        if not side.listed and side.files is not None and other.files is not None:
            hidden = len(other.files.keys() - side.files.keys())
            if hidden:
                reason = f"{side.name}: the server cannot list its files, so {hidden} of the other side "
                yield NotCompared("files", reason + "were not looked for", required=False)


def _notes(a: Side, b: Side) -> Iterator[str]:
    for side in (a, b):
        if side.implied:
            yield f"{side.name}: config and tensors are those that the recipe describes, no file was read"
