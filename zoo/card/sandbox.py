"""What a card template may do: print values, branch and loop, in bounded time and space.

Templates of a pull request are untrusted. Jinja's sandbox keeps a template away from Python, and does not
keep it from running or growing without end. So a template is held against the list of what cards need before
it is compiled, and every step of its loops and filters is counted. Nothing on the list makes a new value, and
nothing but a loop repeats, which is what bounds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.bccache import Bucket
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from zoo.card import markdown

SHIPPED = "zoo/card.md.j2"
MAX_DEPTH = 32
MAX_LOOPS = 3
MAX_COMPILED = 64  # templates that are kept
# One step is a node of a loop's body, or 16 characters through a filter. The shipped card takes about 1,000.
MAX_STEPS = 200_000
_CHARACTERS_PER_STEP = 16
# No template can write this name.
_EACH = "for each"

_ALLOWED = (
    *(nodes.Template, nodes.Extends, nodes.Block, nodes.Output, nodes.TemplateData, nodes.For, nodes.If),
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Filter, nodes.Test, nodes.Call),
    *(nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
)


class _Compiled(jinja2.BytecodeCache):
    """The templates that this process has inspected and compiled, by name and text: it takes some 50 ms, and
    the check of a whole zoo renders a card per recipe."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if len(self._code) < MAX_COMPILED:
            self._code[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _Compiled()


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment for one rendering: it has four filters, two tests, no globals and a budget of steps."""

    def __init__(self, source: Callable[[str], tuple[str, str, Callable[[], bool]] | None]) -> None:
        super().__init__(
            loader=jinja2.FunctionLoader(source),
            undefined=jinja2.StrictUndefined,
            autoescape=True,
            finalize=self._printed,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            bytecode_cache=_COMPILED,
        )
        self._left = MAX_STEPS
        self.globals.clear()
        self.tests = {name: self.tests[name] for name in ("defined", "undefined")}
        self.filters = {
            "code": self._filter(markdown.code),
            "line": self._filter(markdown.line),
            "prose": self._filter(markdown.prose),
            "length": len,
            _EACH: self._each,
        }

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return not isinstance(obj, str) and super().is_safe_attribute(obj, attr, value)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parser = Parser(self, source, name, filename)
        try:
            template = parser.parse()
        except RecursionError:
            parser.fail("it is nested too deeply", parser.stream.current.lineno)
        except ValueError as error:  # an integer of thousands of digits
            parser.fail(str(error), parser.stream.current.lineno)
        _inspect(template, parser.fail)
        return template

    def _each(self, values: Iterable[Any], weight: int) -> Iterator[Any]:
        """What a loop goes over, paid for item by item."""
        if isinstance(values, str):
            raise TypeError("a loop goes over a list, not over text")
        for value in values:
            self._spend(weight)
            yield value

    def _filter(self, function: Callable[[str], markdown.Markdown]) -> Callable[[Any], Markup]:
        def apply(value: Any) -> Markup:
            if isinstance(value, jinja2.Undefined):
                value._fail_with_undefined_error()
            return value if isinstance(value, Markup) else self._markup(function, str(value))

        return apply

    @jinja2.pass_context  # with a context, jinja prints no constant by a way of its own
    def _printed(self, _: Context, value: Any) -> Any:
        """What a template prints. Only text and numbers reach the page, and whatever is not our own markup is
        escaped here."""
        if isinstance(value, (Markup, jinja2.Undefined)) or (
            isinstance(value, int) and not isinstance(value, bool)
        ):
            return value
        if isinstance(value, str):
            return self._markup(markdown.inline, value)
        raise ValueError(f"a value of type {type(value).__name__} cannot be printed")

    def _markup(self, function: Callable[[str], markdown.Markdown], text: str) -> Markup:
        self._spend(1 + len(text) // _CHARACTERS_PER_STEP)
        return Markup(function(text))

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ValueError(f"the card takes more than {MAX_STEPS:,} steps")


def _inspect(
    node: nodes.Node, fail: Callable[[str, int], NoReturn], parents: tuple[nodes.Node, ...] = ()
) -> int:
    """Refuse what is not allowed in ``node`` or below it, put every loop on the budget, and return how many
    nodes there are."""
    loops = sum(isinstance(parent, nodes.For) for parent in (*parents, node))
    if (problem := _problem(node, parents, loops)) is not None:
        fail(f"a card template {problem}", node.lineno)
    weight = 1 + sum(_inspect(child, fail, (*parents, node)) for child in node.iter_child_nodes())
    if isinstance(node, nodes.For):
        node.iter = nodes.Filter(node.iter, _EACH, [nodes.Const(weight)], [], None, None, lineno=node.lineno)
        node.iter.set_environment(node.environment)  # type: ignore[arg-type]
    return weight


def _problem(node: nodes.Node, parents: tuple[nodes.Node, ...], loops: int) -> str | None:
    match node:
        case _ if type(node) not in _ALLOWED:
            word = getattr(node, "operator", None) or type(node).__name__.lower()
            return f'prints, branches and loops; it has no "{word}"'
        case _ if len(parents) > MAX_DEPTH:
            return f"nests no deeper than {MAX_DEPTH} levels"
        case nodes.If(elif_=others) if len(others) > MAX_DEPTH:
            return f"has no more than {MAX_DEPTH} elif in one if"
        case nodes.For() if loops > MAX_LOOPS or node.recursive:
            return f"has loops in loops up to {MAX_LOOPS}, and none that calls itself"
        case nodes.Extends() | nodes.Block() if len(parents) > 1:
            return "has extends and block at the top, not inside anything"
        case nodes.Extends() if getattr(node.template, "value", None) != SHIPPED:
            return f'extends nothing but "{SHIPPED}"'
        case nodes.Filter() | nodes.Test() if _arguments(node):
            return "gives a filter or a test no arguments"
        case nodes.Call() if _arguments(node) or loops or not _is_super(node.node):
            return "calls nothing but super(), outside of loops"
    return None


def _arguments(node: nodes.Filter | nodes.Test | nodes.Call) -> bool:
    return bool(node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)


def _is_super(node: nodes.Expr) -> bool:
    return isinstance(node, nodes.Name) and node.name == "super"
