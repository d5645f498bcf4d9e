"""Expressions of the source: constants, collections, operators, and calls of what is known."""

from __future__ import annotations

import ast
import operator
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zoo.engines.extract.names import METHODS, Names, Scope, word
from zoo.engines.extract.source import LayoutError
from zoo.engines.extract.values import Bound, Ref, Super, usable

_PLAIN: dict[str, Callable[..., Any]] = {
    each.__name__: each for each in (list, tuple, set, frozenset, dict, sorted, len, int, str)
}
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.BitOr: operator.or_,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
# Arguments that say nothing about what is accepted.
_FOR_PEOPLE = frozenset({"metavar", "title", "description"})


@dataclass(frozen=True)
class Expressions(Names):
    @abstractmethod
    def run(
        self, function: Ref, positional: list[Any], keyword: dict[str, Any], place: str, owner: Ref | None
    ) -> Any:
        """Call a function of the release; ``owner`` is the class that a class method is called on."""

    @abstractmethod
    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Assign to a name, a tuple of names, or an item."""

    def evaluate(self, node: ast.AST, scope: Scope) -> Any:
        """The value of an expression.

        Raises:
            LayoutError: it needs something that the interpreter does not know.
        """
        place = scope.module.place(node)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return usable(scope.names[name]) if name in scope.names else self.lookup(scope.module, name)
            case ast.List(elts=elements):
                return self._sequence(elements, scope)
            case ast.Tuple(elts=elements):
                return tuple(self._sequence(elements, scope))
            case ast.Set(elts=elements):
                return set(self._sequence(elements, scope))
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values, scope)
            case ast.JoinedStr(values=parts):
                return "".join(str(self._part(part, scope)) for part in parts)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return BINARY[type(op)](self.evaluate(left, scope), self.evaluate(right, scope))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.evaluate(operand, scope)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.evaluate(operand, scope)
            case ast.BoolOp(op=ast.And(), values=values):
                return all(self.evaluate(each, scope) for each in values)
            case ast.BoolOp(values=values):
                return any(self.evaluate(each, scope) for each in values)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return _COMPARE[type(op)](self.evaluate(left, scope), self.evaluate(right, scope))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.evaluate(body if self.evaluate(test, scope) else orelse, scope)
            case ast.Subscript(value=value, slice=key):
                return self._item(self.evaluate(value, scope), key, scope, place)
            case ast.Attribute(value=value, attr=name):
                return self.attribute(self.evaluate(value, scope), name, place)
            case ast.ListComp(elt=element, generators=[generator]):
                return list(self._comprehend(element, generator, scope))
            case ast.SetComp(elt=element, generators=[generator]):
                return set(self._comprehend(element, generator, scope))
            case ast.GeneratorExp(elt=element, generators=[generator]):
                return list(self._comprehend(element, generator, scope))
            case ast.Lambda():
                return Ref("lambda", ast.unparse(node), node, scope.module)
            case ast.Call():
                return self._call(node, scope)
        raise LayoutError(place, f"cannot read the expression {short(node)}")

    def _sequence(self, elements: list[ast.expr], scope: Scope) -> list[Any]:
        found: list[Any] = []
        for element in elements:
            if isinstance(element, ast.Starred):
                found += self.members(self.evaluate(element.value, scope), scope.module.place(element))
            else:
                found.append(self.evaluate(element, scope))
        return found

    def _dict(self, keys: list[ast.expr | None], values: list[ast.expr], scope: Scope) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                found |= self.evaluate(value, scope)
            else:
                named = self.evaluate(key, scope)
                found[named] = self.tolerant(value, scope)
        return found

    def _part(self, part: ast.expr, scope: Scope) -> Any:
        return self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part, scope)

    def _comprehend(self, element: ast.expr, generator: ast.comprehension, scope: Scope) -> list[Any]:
        found = []
        for each in self.members(self.evaluate(generator.iter, scope), scope.module.place(element)):
            inner = Scope(scope.module, dict(scope.names), scope.cls)
            self.bind(generator.target, each, inner)
            if all(self.evaluate(test, inner) for test in generator.ifs):
                found.append(self.evaluate(element, inner))
        return found

    def _item(self, owner: Any, key: ast.expr, scope: Scope, place: str) -> Any:
        if isinstance(key, ast.Slice):
            lower = None if key.lower is None else self.evaluate(key.lower, scope)
            upper = None if key.upper is None else self.evaluate(key.upper, scope)
            return owner[lower:upper]
        named = self.evaluate(key, scope)
        if isinstance(owner, Ref) and owner.name == "Literal":  # its values, as get_args gives them
            return named if isinstance(named, tuple) else (named,)
        if not isinstance(owner, (dict, list, tuple, str)):
            raise LayoutError(place, f"cannot index {word(owner)}")
        try:
            return usable(owner[named])
        except (KeyError, IndexError) as error:
            raise LayoutError(place, f"there is no {named!r}") from error

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        place = scope.module.place(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and scope.cls is not None:
            return Super(scope.cls, scope.names["cls"])
        function = self.evaluate(node.func, scope)
        if isinstance(function, Bound):
            return self.call_method(function, node, scope)
        if not isinstance(function, Ref):
            raise LayoutError(place, f"cannot call {short(node.func)}")
        positional, keyword = self.arguments(node, scope)
        if function.full in self.intrinsics:
            return self.intrinsics[function.full](positional, keyword, place)
        if function.module == "builtins" and function.name in _PLAIN:
            plain = [self.members(each, place) if isinstance(each, Ref) else each for each in positional]
            return _PLAIN[function.name](*plain, **keyword)
        if isinstance(function.node, ast.FunctionDef):
            owner = None
            if isinstance(node.func, ast.Attribute):
                value = self.evaluate(node.func.value, scope)
                owner = value if isinstance(value, Ref) and isinstance(value.node, ast.ClassDef) else None
            return self.run(function, positional, keyword, place, owner)
        raise LayoutError(place, f"cannot call {function.full}")

    def arguments(self, node: ast.Call, scope: Scope) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call, without those that only people read."""
        keyword: dict[str, Any] = {}
        for each in node.keywords:
            if each.arg is None:
                keyword |= self.evaluate(each.value, scope)
            elif each.arg not in _FOR_PEOPLE:
                keyword[each.arg] = self.tolerant(each.value, scope)
        return self._sequence(node.args, scope), keyword

    def call_method(self, bound: Bound, node: ast.Call, scope: Scope) -> Any:
        place = scope.module.place(node)
        positional, keyword = self.arguments(node, scope)
        if isinstance(bound.owner, Super):
            return self._above(bound.owner, bound.name, positional, keyword, place)
        if isinstance(bound.owner, self.recorder):
            return getattr(bound.owner, bound.name)(place, *positional, **keyword)
        if bound.name not in METHODS.get(type(bound.owner), ()):
            raise LayoutError(place, f"cannot call {bound.name} of {word(bound.owner)}")
        try:
            return getattr(bound.owner, bound.name)(*positional, **keyword)
        except (KeyError, ValueError, TypeError) as error:
            raise LayoutError(place, f"{bound.name}() fails: {error}") from error

    def _above(
        self, above: Super, name: str, positional: list[Any], keyword: dict[str, Any], place: str
    ) -> Any:
        """A method of the nearest class above the one that says super()."""
        for base in self.lineage(above.base)[1:]:
            method = self.class_attribute(base, name, place)
            return self.run(method, positional, keyword, place, above.cls)
        raise LayoutError(place, f"{above.base.full} has no base in this release")


def short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else text[:79] + "…"
