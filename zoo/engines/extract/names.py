"""Names of the source: what they are, across imports, classes and Enums of the release."""

from __future__ import annotations

import ast
import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.engines.extract.source import LayoutError, Module, Source
from zoo.engines.extract.values import Bound, Member, Ref, Super, Unreadable

# What the interpreter lets a call do: (positional, keyword, place) -> value.
Intrinsic = Callable[[list[Any], dict[str, Any], str], Any]

METHODS: dict[type[Any], set[str]] = {
    str: {"lower", "upper", "replace", "strip", "removeprefix", "join"},
    list: {"append", "extend", "remove", "copy", "index"},
    set: {"add", "update", "discard", "union", "copy"},
    dict: {"keys", "values", "items", "get", "pop", "update", "setdefault", "copy"},
}


@dataclass(frozen=True)
class Scope:
    """Where an expression stands: its module, the names of the function, and the class of the method."""

    module: Module
    names: dict[str, Any]
    cls: Ref | None = None  # the class that defines the running method


@dataclass(frozen=True)
class Names(ABC):
    """``intrinsics``: calls by full name that are done here; ``assumed``: names by full name with their value
    on the machine that is assumed; ``recorder``: the type of the parser object, whose methods are called."""

    source: Source
    intrinsics: Mapping[str, Intrinsic]
    assumed: Mapping[str, Any]
    recorder: type

    @abstractmethod
    def evaluate(self, node: ast.AST, scope: Scope) -> Any:
        """The value of an expression.

        Raises:
            LayoutError: it needs something that the interpreter does not know.
        """

    @abstractmethod
    def call_method(self, bound: Bound, node: ast.Call, scope: Scope) -> Any:
        """Call a method of a plain value, of the parser, or above ``super()``."""

    def tolerant(self, node: ast.AST, scope: Scope) -> Any:
        """The value, or what went wrong: that matters only where the value is used."""
        try:
            return self.evaluate(node, scope)
        except LayoutError as error:
            return Unreadable(error)

    def lookup(self, module: Module, name: str) -> Any:
        """What ``name`` is at the top level of ``module``."""
        full = f"{module.name}.{name}"
        if full in self.assumed:
            return self.assumed[full]
        found = self.source.named(module, name)
        if found is None:
            if hasattr(builtins, name):
                return Ref("builtins", name)
            raise LayoutError(module.path, f"the name {name} is not defined at the top of the file")
        if isinstance(found, tuple):
            return self._imported(*found)
        if isinstance(found, (ast.ClassDef, ast.FunctionDef)):
            return Ref(module.name, name, found, module)
        scope = Scope(module, {})
        value = self.evaluate(found, scope)
        for change in module.changes.get(name, ()):
            self.call_method(Bound(value, change.func.attr), change, scope)  # type: ignore[attr-defined]
        return value

    def _imported(self, module: str, name: str | None) -> Any:
        full = module if name is None else f"{module}.{name}"
        if full in self.assumed:
            return self.assumed[full]
        if name is None:
            return Ref(module, "")
        home = self.source.module(module)
        if home is not None and self.source.named(home, name) is not None:
            return self.lookup(home, name)
        return Ref(module, name) if self.source.module(full) is None else Ref(full, "")

    def attribute(self, owner: Any, name: str, place: str) -> Any:
        """``owner.name`` of a class, an Enum member, a module, or a method of a plain value."""
        if isinstance(owner, Member) and name in ("name", "value"):
            return getattr(owner, name)
        if isinstance(owner, (Super, self.recorder)):
            return Bound(owner, name)
        if isinstance(owner, Ref):
            if f"{owner.full}.{name}" in self.assumed:
                return self.assumed[f"{owner.full}.{name}"]
            if isinstance(owner.node, ast.ClassDef):
                return self.class_attribute(owner, name, place)
            if not owner.name:
                home = self.source.module(owner.module)
                known = home is not None and self.source.named(home, name) is not None
                return self.lookup(home, name) if home and known else Ref(owner.module, name)
            return Ref(owner.full, name)
        if name in METHODS.get(type(owner), ()):
            return Bound(owner, name)
        raise LayoutError(place, f"cannot read the attribute {name} of {word(owner)}")

    def class_attribute(self, cls: Ref, name: str, place: str) -> Any:
        """An attribute or method of a class, looked up in its bases too."""
        for each in self.lineage(cls):
            assert isinstance(each.node, ast.ClassDef)
            assert each.home is not None
            for statement in reversed(each.node.body):
                if isinstance(statement, ast.FunctionDef) and statement.name == name:
                    return Ref(each.module, f"{each.name}.{name}", statement, each.home)
                value = assigned(statement, name)
                if value is not None:
                    found = self.evaluate(value, Scope(each.home, self._members_before(each, statement)))
                    return Member(name, found) if is_enum(each) else found
        raise LayoutError(place, f"the class {cls.full} has no attribute {name}")

    def _members_before(self, cls: Ref, until: ast.stmt) -> dict[str, Any]:
        """The plain attributes of a class body above ``until``: its later lines may use them."""
        assert isinstance(cls.node, ast.ClassDef)
        assert cls.home is not None
        names: dict[str, Any] = {}
        for statement in cls.node.body:
            if statement is until:
                break
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                names[statement.targets[0].id] = self.tolerant(statement.value, Scope(cls.home, names))
        return names

    def lineage(self, cls: Ref) -> list[Ref]:
        """The class and those of its bases that the release defines, nearest first."""
        found = [cls]
        assert isinstance(cls.node, ast.ClassDef)
        assert cls.home is not None
        for base in cls.node.bases:
            above = self.tolerant(base, Scope(cls.home, {}))
            if isinstance(above, Ref) and isinstance(above.node, ast.ClassDef):
                found += self.lineage(above)
        return found

    def members(self, value: Any, place: str) -> list[Any]:
        """The elements of a collection, or the members of an Enum."""
        if isinstance(value, Ref) and isinstance(value.node, ast.ClassDef) and is_enum(value):
            names = [
                target.id
                for statement in value.node.body
                if isinstance(statement, ast.Assign)
                for target in statement.targets
                if isinstance(target, ast.Name) and not target.id.startswith("_")
            ]
            return [self.class_attribute(value, name, place) for name in names]
        if isinstance(value, (Ref, Unreadable)) or not hasattr(value, "__iter__"):
            raise LayoutError(place, f"cannot go through {word(value)}")
        return list(value)


def assigned(statement: ast.stmt, name: str) -> ast.expr | None:
    """What a line of a class body assigns to ``name``."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
            return value
        case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
            return value
    return None


def is_enum(cls: Ref) -> bool:
    """Whether a class is an Enum, by the names of its bases."""
    assert isinstance(cls.node, ast.ClassDef)
    return any(ast.unparse(base).endswith(("Enum", "Flag")) for base in cls.node.bases)


def word(value: Any) -> str:
    return value.full if isinstance(value, Ref) else f"a {type(value).__name__}"
