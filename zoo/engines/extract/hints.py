"""Type annotations of the source: a union of kinds, with aliases followed across files."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from typing import Any

from zoo.engines.extract.names import Scope
from zoo.engines.extract.source import LayoutError, Module
from zoo.engines.extract.static import Static
from zoo.engines.extract.values import Ref, Unreadable

_PLAIN = {"int", "str", "float", "bool", "dict", "list", "tuple", "set", "bytes"}
_GENERIC = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set", "Mapping": "dict"}
_TRANSPARENT = {"Annotated", "SkipValidation", "Final"}  # X[T, ...] is T


@dataclass(frozen=True)
class Hint:
    """One alternative of a type. ``kind``: a builtin's name, ``none``, ``literal``, ``class`` (one of the
    release), or ``other``. ``args``: the values of a literal, else the hints of each parameter."""

    kind: str
    args: tuple[Any, ...] = ()
    ref: Ref | None = None

    @property
    def is_dataclass(self) -> bool:
        node = self.ref.node if self.ref else None
        if not isinstance(node, ast.ClassDef):
            return False
        names = {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list}
        return bool(names & {"dataclass", "config"})


Hints = tuple[Hint, ...]


def hints(static: Static, node: ast.AST, module: Module) -> Hints:
    """The alternatives of an annotation, ``Optional`` and ``|`` flattened, in order and without doubles."""
    return tuple(dict.fromkeys(_read(static, node, module)))


def _read(static: Static, node: ast.AST, module: Module) -> list[Hint]:
    match node:
        case ast.Constant(value=None):
            return [Hint("none")]
        case ast.Constant(value=str(text)):  # an annotation in quotes
            return _read(static, ast.parse(text, mode="eval").body, module)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_read(static, left, module), *_read(static, right, module)]
        case ast.Subscript(value=base, slice=inner):
            return _subscript(static, base, inner, module)
        case ast.Name(id=name):
            return _name(static, name, module)
        case ast.Attribute():
            return [Hint("other", ref=_ref(static, node, module))]
    raise LayoutError(module.place(node), f"cannot read the type {ast.unparse(node)}")


def _subscript(static: Static, base: ast.expr, inner: ast.expr, module: Module) -> list[Hint]:
    name = ast.unparse(base).rpartition(".")[2]
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    if name in _TRANSPARENT:
        return _read(static, parts[0], module)
    if name == "Optional":
        return [*_read(static, parts[0], module), Hint("none")]
    if name == "Union":
        return [hint for part in parts for hint in _read(static, part, module)]
    if name == "Literal":
        return [Hint("literal", tuple(_literals(static, parts, module)))]
    kind = _GENERIC.get(name, name)
    if kind in ("list", "set", "tuple"):
        args = tuple(
            ("...",) if ast.unparse(part) == "..." else hints(static, part, module) for part in parts
        )
        return [Hint(kind, args)]
    return [Hint("dict")] if kind == "dict" else [Hint("other")]


def _literals(static: Static, parts: list[ast.expr], module: Module) -> list[Any]:
    """The values of ``Literal[...]``; one may be the name of another literal."""
    found: list[Any] = []
    for part in parts:
        if isinstance(part, ast.Constant):
            found.append(part.value)
        else:
            found += [value for hint in _read(static, part, module) for value in hint.args]
    return found


def _name(static: Static, name: str, module: Module) -> list[Hint]:
    if name in _PLAIN:
        return [Hint(name)]
    if name in _GENERIC:
        return [Hint(_GENERIC[name])]
    home = module
    while True:
        found = static.source.named(home, name)
        if isinstance(found, ast.ClassDef):
            return [_class(static, Ref(home.name, name, found, home))]
        if isinstance(found, ast.AST):
            return _read(static, found, home)
        if found is None:
            if hasattr(builtins, name):
                return [Hint("other")]
            raise LayoutError(home.path, f"the type {name} is not defined at the top of the file")
        above = static.source.module(found[0])
        if above is None or found[1] is None:
            return [Hint("other")]  # of another package
        home, name = above, found[1]


def _class(static: Static, ref: Ref) -> Hint:
    """A class of the release; one below dict counts as dict."""
    bases = [base for each in static.lineage(ref) for base in getattr(each.node, "bases", ())]
    below_dict = any(ast.unparse(base).partition("[")[0] == "dict" for base in bases)
    return Hint("dict") if below_dict else Hint("class", ref=ref)


def _ref(static: Static, node: ast.AST, module: Module) -> Ref | None:
    value = static.tolerant(node, Scope(module, {}))
    return None if isinstance(value, Unreadable) or not isinstance(value, Ref) else value
