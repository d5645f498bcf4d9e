"""Two drafts and what differs between them: plain frozen values.

A is the one to compare with (the base, the version before), B the other. Every list keeps all entries;
renderers decide how many they show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from zoo.checkpoint.model import Checkpoint

SCHEMA = "zoo-diff/1"


class Absent(Enum):
    """A value that is not there, which is something else than null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Form:
    """What a header says of a tensor. ``dtype`` as the format spells it (``BF16``)."""

    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    def as_json(self) -> dict[str, Any]:
        return {"dtype": self.dtype, "shape": list(self.shape), "bytes": self.nbytes}


@dataclass(frozen=True, slots=True)
class FileFact:
    """A file: ``size`` in bytes and, where it is known without reading weights, its ``sha256``. ``origin``
    says who states that: "manifest", "hub", "cache" (of an earlier pass) or "read" (by this command)."""

    size: int
    sha256: str | None = None
    origin: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {"bytes": self.size, "sha256": self.sha256, "origin": self.origin}


@dataclass(frozen=True)
class Side:
    """What is known of one draft. ``name`` as the user wrote it; ``kind`` "recipe", "release" or "source";
    ``revision`` the commit that was read.

    ``facts``: what a recipe or a manifest states, by how much of it that is: "resolved" (a recipe with its
    target and profiles), "recipe" (as it stands in its file), "manifest". ``config``, ``tensors`` and
    ``files`` are None where they are not known, and ``missing`` says why, by part. ``implied``: config and
    tensors are those that the recipe describes, because its files are out of reach. ``listed`` is False
    where a server cannot list its files. ``checkpoint``: the bytes, for a deep comparison.
    """

    name: str
    kind: str
    revision: str | None = None
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None
    tensors: Mapping[str, Form] | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, FileFact] | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    implied: bool = False
    listed: bool = True
    checkpoint: Checkpoint | None = None

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "revision": self.revision, "implied": self.implied}


@dataclass(frozen=True, slots=True)
class Change:
    """A value at a JSON ``pointer`` that is another one, or ``ABSENT``, on the other side."""

    pointer: str
    a: Any
    b: Any

    def as_json(self) -> dict[str, Any]:
        return {"pointer": self.pointer, **_values(self.a, self.b)}


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A key of config.json. ``key`` is its canonical name (``rope.theta``), ``pointer_a`` and ``pointer_b``
    the places in the files, None where it is not stated. ``read``: whether an engine version reads it, None
    where nobody has listed the keys of the family. ``moved``: the same value at another place."""

    key: str
    pointer_a: str | None
    pointer_b: str | None
    a: Any
    b: Any
    read: bool | None
    moved: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "pointer_a": self.pointer_a,
            "pointer_b": self.pointer_b,
            **_values(self.a, self.b),
            "read": self.read,
            "moved": self.moved,
        }


@dataclass(frozen=True, slots=True)
class Pair:
    """A tensor of both sides; ``name_b`` differs from ``name_a`` where it was recognised under another
    name."""

    name_a: str
    name_b: str
    a: Form
    b: Form

    @property
    def renamed(self) -> bool:
        return self.name_a != self.name_b

    @property
    def same_form(self) -> bool:
        return (self.a.dtype, self.a.shape) == (self.b.dtype, self.b.shape)

    def as_json(self) -> dict[str, Any]:
        return {
            "name_a": self.name_a,
            "name_b": self.name_b,
            "a": self.a.as_json(),
            "b": self.b.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Inventory:
    """The tensors of both sides: in ``pairs``, or only in one. ``metadata``: changes of what the headers hold
    beside the tensors."""

    pairs: tuple[Pair, ...]
    only_a: Mapping[str, Form]
    only_b: Mapping[str, Form]
    metadata: tuple[Change, ...] = ()

    @property
    def renamed(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.renamed)

    @property
    def reshaped(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.a.shape != pair.b.shape)

    @property
    def recast(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.a.dtype != pair.b.dtype)

    @property
    def differences(self) -> int:
        changed = sum(pair.renamed or not pair.same_form for pair in self.pairs)
        return len(self.only_a) + len(self.only_b) + changed + len(self.metadata)

    def as_json(self) -> dict[str, Any]:
        return {
            "in_both": len(self.pairs),
            "only_a": {name: form.as_json() for name, form in self.only_a.items()},
            "only_b": {name: form.as_json() for name, form in self.only_b.items()},
            "renamed": [pair.as_json() for pair in self.renamed],
            "reshaped": [pair.as_json() for pair in self.reshaped],
            "recast": [pair.as_json() for pair in self.recast],
            "metadata": [change.as_json() for change in self.metadata],
        }


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that only one side has (the other is None), or whose size or sha256 differs."""

    path: str
    a: FileFact | None
    b: FileFact | None

    def as_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "a": None if self.a is None else self.a.as_json(),
            "b": None if self.b is None else self.b.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Files:
    """The files of both sides: those that differ, those with one sha256, and those of one size whose content
    was not compared at this level."""

    changed: tuple[FileChange, ...]
    same: tuple[str, ...]
    not_compared: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "changed": [change.as_json() for change in self.changed],
            "same": list(self.same),
            "not_compared": list(self.not_compared),
        }


@dataclass(frozen=True, slots=True)
class TensorChange:
    """How the numbers of one tensor changed, from their decoded values in float64; integers beside integers
    are compared exactly.

    ``identical``: one dtype and the same bytes. ``changed``: how many elements have another value.
    ``relative``: norm(A - B) / norm(A), 0.0 for no change, None where norm(A) is 0, something overflows or
    the dtype is no float. ``largest``: the largest absolute change. ``not_finite``: elements that are NaN
    or Inf on a side, left out of both. For a dtype whose numbers cannot be told (F6), or complex beside
    another one, ``compared`` is False and only ``identical`` counts. Of a complex element, both parts are
    counted.
    """

    name_a: str
    name_b: str
    dtype_a: str
    dtype_b: str
    elements: int
    identical: bool
    changed: int
    relative: float | None
    largest: float | None
    not_finite: int
    compared: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "name_a": self.name_a,
            "name_b": self.name_b,
            "dtype_a": self.dtype_a,
            "dtype_b": self.dtype_b,
            "elements": self.elements,
            "identical": self.identical,
            "changed": self.changed if self.compared else None,
            "relative_change": self.relative,
            "largest_change": self.largest,
            "not_finite": self.not_finite,
        }


@dataclass(frozen=True, slots=True)
class Numbers:
    """The tensors that were compared number by number. ``relative``: norm(A - B) / norm(A) over all float
    tensors together."""

    tensors: tuple[TensorChange, ...]
    relative: float | None
    nbytes: int

    @property
    def unchanged(self) -> tuple[TensorChange, ...]:
        return tuple(tensor for tensor in self.tensors if tensor.identical)

    @property
    def changed(self) -> tuple[TensorChange, ...]:
        """Those that are not identical, the most changed first."""
        rest = [tensor for tensor in self.tensors if not tensor.identical]
        return tuple(sorted(rest, key=_least_change_last))

    def as_json(self) -> dict[str, Any]:
        return {
            "relative_change": self.relative,
            "bytes": self.nbytes,
            "unchanged": [tensor.name_a for tensor in self.unchanged],
            "tensors": [tensor.as_json() for tensor in self.tensors],
        }


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A part that was not compared, and why. ``required``: the requested level includes it, so that without
    it the two cannot be called the same."""

    part: str
    reason: str
    required: bool = True

    def as_json(self) -> dict[str, Any]:
        return {"part": self.part, "reason": self.reason, "required": self.required}


@dataclass(frozen=True, slots=True)
class Diff:
    """Everything that differs. A part is None where it was not compared; ``not_compared`` says why, unless
    it does not apply (a recipe beside a folder, numbers at header level)."""

    a: Side
    b: Side
    level: str
    recipe: tuple[Change, ...] | None
    config: tuple[ConfigChange, ...] | None
    inventory: Inventory | None
    files: Files | None
    numbers: Numbers | None
    not_compared: tuple[NotCompared, ...]
    notes: tuple[str, ...] = ()

    @property
    def differences(self) -> int:
        parts = [self.recipe or (), self.config or (), self.files.changed if self.files else ()]
        found = sum(map(len, parts)) + (self.inventory.differences if self.inventory else 0)
        return found + (len(self.numbers.changed) if self.numbers else 0)

    @property
    def exit_status(self) -> int:
        """0: no difference. 1: some. 2: none was found, and something could not be compared."""
        if self.differences:
            return 1
        return 2 if any(each.required for each in self.not_compared) else 0

    def as_json(self) -> dict[str, Any]:
        """The diff as ``zoo-diff/1`` (``zoo/schemas/zoo-diff-1.json``)."""
        return {
            "schema": SCHEMA,
            "level": self.level,
            "a": self.a.as_json(),
            "b": self.b.as_json(),
            "recipe": None if self.recipe is None else [change.as_json() for change in self.recipe],
            "config": None if self.config is None else [change.as_json() for change in self.config],
            "inventory": None if self.inventory is None else self.inventory.as_json(),
            "files": None if self.files is None else self.files.as_json(),
            "numbers": None if self.numbers is None else self.numbers.as_json(),
            "not_compared": [each.as_json() for each in self.not_compared],
            "notes": list(self.notes),
            "differences": self.differences,
            "exit": self.exit_status,
        }


def _values(a: Any, b: Any) -> dict[str, Any]:
    """Both values for JSON, in which an absent one has no key."""
    return {key: value for key, value in (("a", a), ("b", b)) if value is not ABSENT}


def _least_change_last(tensor: TensorChange) -> tuple[bool, float, str]:
    """By relative change; what has none to compare (from zero, integers) comes first."""
    return (tensor.relative is not None, -(tensor.relative or 0.0), tensor.name_a)
