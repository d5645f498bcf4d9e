"""What an expression of the source is worth without running it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from zoo.engines.extract.source import LayoutError, Module


@dataclass(frozen=True)
class Ref:
    """Something that has a name and no value here: a class, a function, or anything of another package."""

    module: str
    name: str
    node: ast.AST | None = None
    home: Module | None = None

    @property
    def full(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module

    def __hash__(self) -> int:
        return hash((self.module, self.name))


@dataclass(frozen=True)
class Member:
    """A member of an Enum."""

    name: str
    value: Any


@dataclass(frozen=True)
class Bound:
    """A method of a value: ``choices.append``."""

    owner: Any
    name: str


@dataclass(frozen=True)
class Super:
    """``super()`` in a method of a class below ``base``."""

    base: Ref
    cls: Ref


@dataclass(frozen=True)
class Converter:
    """A ``type=`` by its name in :mod:`zoo.engines.converters`."""

    name: str


@dataclass(frozen=True)
class Unreadable:
    """A value that could not be read; it matters only when it is used."""

    error: LayoutError


def usable(value: Any) -> Any:
    """``value``, or the error that it stands for."""
    if isinstance(value, Unreadable):
        raise value.error
    return value


def as_data(value: Any) -> Any:
    """``value`` as JSON holds it; ``"..."`` for what the engine computes at start."""
    if isinstance(value, Member):
        return as_data(value.value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(as_data(each) for each in value)
    if isinstance(value, (list, tuple)):
        return [as_data(each) for each in value]
    if isinstance(value, dict):
        return {str(key): as_data(each) for key, each in value.items()}
    return None if isinstance(value, Ref) and value.full == "argparse.SUPPRESS" else "..."
