"""A small interpreter of the source that registers options: constants, names, and plain statements.

It follows imports within the release, calls its functions, and knows no side effects but those on lists, sets
and dicts. Whatever it does not know is a :class:`LayoutError` with file and line, never a guess.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from zoo.engines.extract.expressions import BINARY, Expressions, short
from zoo.engines.extract.names import Scope
from zoo.engines.extract.source import LayoutError, imported
from zoo.engines.extract.values import Ref, Unreadable

# What a source that is written otherwise makes plain Python raise.
_STUMBLES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True)
class Static(Expressions):
    """The interpreter; its three layers are names, expressions and, here, statements and functions."""

    def run(
        self, function: Ref, positional: list[Any], keyword: dict[str, Any], place: str, owner: Ref | None
    ) -> Any:
        """Call a function of the release; ``owner`` is the class that a class method is called on."""
        node, home = function.node, function.home
        if not isinstance(node, ast.FunctionDef) or home is None:
            raise LayoutError(place, f"{function.full} is no function of this release")
        decorators = {ast.unparse(each) for each in node.decorator_list}
        if "classmethod" in decorators:
            positional = [owner, *positional]
        parameters = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        defaults = node.args.defaults
        names: dict[str, Any] = {}
        for parameter, default in zip(parameters[len(parameters) - len(defaults) :], defaults, strict=True):
            names[parameter] = self.tolerant(default, Scope(home, {}))
        names |= dict(zip(parameters, positional, strict=False)) | keyword
        cls = None
        if "." in function.name:
            cls = self.lookup(home, function.name.partition(".")[0])
        try:
            self._block(node.body, Scope(home, names, cls))
        except _Return as done:
            return done.value
        return None

    def _block(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            try:
                self._statement(statement, scope)
            except _STUMBLES as error:
                what = f"cannot follow {short(statement)}: {type(error).__name__}: {error}"
                raise LayoutError(scope.module.place(statement), what) from error

    def _statement(self, statement: ast.stmt, scope: Scope) -> None:
        place = scope.module.place(statement)
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=value):
                self.evaluate(value, scope)
            case ast.Assign(targets=[target], value=value):
                self.bind(target, self.tolerant(value, scope), scope)
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in BINARY:
                before = self.evaluate(target, scope)
                self.bind(target, BINARY[type(op)](before, self.evaluate(value, scope)), scope)
            case ast.Delete(targets=[ast.Subscript(value=owner, slice=key)]):
                del self.evaluate(owner, scope)[self.evaluate(key, scope)]
            case ast.Import() | ast.ImportFrom():
                package = scope.module.name.rpartition(".")[0]
                for name, (module, member) in imported(statement, package).items():
                    scope.names[name] = self._imported(module, member)
            case ast.If(test=test, body=body, orelse=orelse):
                self._branch(test, body, orelse, scope)
            case ast.For(target=target, iter=iterable, body=body, orelse=[]):
                for each in self.members(self.evaluate(iterable, scope), place):
                    self.bind(target, each, scope)
                    self._block(body, scope)
            case ast.Return(value=value):
                raise _Return(None if value is None else self.evaluate(value, scope))
            case _:
                raise LayoutError(place, f"cannot follow the statement {short(statement)}")

    def _branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], scope: Scope) -> None:
        """A branch whose test cannot be read may only change choices, and is then not taken."""
        chosen = self.tolerant(test, scope)
        if isinstance(chosen, Unreadable):
            if any("add_argument" in ast.unparse(each) for each in (*body, *orelse)):
                raise chosen.error
            return
        self._block(body if chosen else orelse, scope)

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope.names[name] = value
            case ast.Tuple(elts=targets):
                for each, part in zip(targets, value, strict=True):
                    self.bind(each, part, scope)
            case ast.Subscript(value=owner, slice=key):
                self.evaluate(owner, scope)[self.evaluate(key, scope)] = value
            case _:
                raise LayoutError(scope.module.place(target), f"cannot assign to {short(target)}")
