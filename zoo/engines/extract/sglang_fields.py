"""SGLang's own rule from an annotated field to an argument, the same in every layout that was read.

``name: A[T, Arg(...)] = default`` becomes ``--name``; ``A[T, "help"]`` is short for ``A[T, Arg(help=...)]``;
fields without such an annotation have no argument (srt/arg_groups/arg_utils.py).
"""

from __future__ import annotations

import ast
from typing import Any

from zoo.engines.extract.arguments import Recorder
from zoo.engines.extract.hints import Hint, Hints, hints
from zoo.engines.extract.names import Scope
from zoo.engines.extract.source import LayoutError, Module
from zoo.engines.extract.static import Static
from zoo.engines.extract.values import Ref, Unreadable

_ARG = "sglang.srt.arg_groups.arg_utils.Arg"
# Arg's attributes: what the CLI reads of it, and what only the engine does. Anything else is another layout.
_CLI = frozenset(
    "help choices aliases cli_name type_parser nargs required action action_kwargs const no_cli".split()
)
_ENGINE = frozenset({"resolvable", "fallback"})
_MISSING = object()


def add_field(recorder: Recorder, static: Static, module: Module, field: ast.AnnAssign) -> None:
    """Record the argument of one field, if it has one."""
    assert isinstance(field.target, ast.Name)
    name, place = field.target.id, module.place(field)
    found = _annotation(static, module, field)
    if found is None or found[1].get("no_cli"):
        return
    kind, arg = found
    default = default_of(static, module, field)
    cli_name = arg.get("cli_name") or "--" + name.replace("_", "-")
    arguments: dict[str, Any] = {"dest": name, "help": arg.get("help")}
    if default is not _MISSING:
        arguments["default"] = default
    if arg.get("action") is not None:
        arguments |= {"action": arg["action"]} | (arg.get("action_kwargs") or {})
    else:
        arguments |= _by_type(static, module, kind, arg)
        if arg.get("required") is True or (_is_scalar(arguments) and default is _MISSING):
            arguments["required"] = arg.get("required") is not False
    recorder.add_argument(place, cli_name, *(arg.get("aliases") or ()), **arguments)


def _annotation(
    static: Static, module: Module, field: ast.AnnAssign
) -> tuple[ast.expr, dict[str, Any]] | None:
    """The bare type and the Arg of ``A[T, ...]``; None where the annotation is no such thing."""
    node = field.annotation
    if not isinstance(node, ast.Subscript) or ast.unparse(node.value) not in ("A", "Annotated"):
        return None
    assert isinstance(node.slice, ast.Tuple)
    for extra in node.slice.elts[1:]:
        if isinstance(extra, ast.Call):
            called = static.evaluate(extra.func, Scope(module, {}))
            if isinstance(called, Ref) and called.full == _ARG:
                return node.slice.elts[0], _arg(static, module, extra)
        else:
            text = static.evaluate(extra, Scope(module, {}))
            if isinstance(text, str):
                return node.slice.elts[0], {"help": text}
    return None


def _arg(static: Static, module: Module, call: ast.Call) -> dict[str, Any]:
    positional, keyword = static.arguments(call, Scope(module, {}))
    unknown = sorted(set(keyword) - _CLI - _ENGINE)
    if positional or unknown:
        what = f"Arg has {', '.join(unknown) or 'positional arguments'}, which is not known"
        raise LayoutError(module.place(call), what)
    for key in _CLI - {"help"}:
        if isinstance(keyword.get(key), Unreadable):
            raise keyword[key].error
    return keyword


def default_of(static: Static, module: Module, field: ast.AnnAssign) -> Any:
    """The default of a field; ``...`` where it is computed when the engine starts."""
    if field.value is None:
        return _MISSING
    if isinstance(field.value, ast.Call) and ast.unparse(field.value.func).endswith("field"):
        keyword = {each.arg: each.value for each in field.value.keywords}
        factory = keyword.get("default_factory")
        body = factory.body if isinstance(factory, ast.Lambda) else factory
        if isinstance(factory, ast.Name) and factory.id in ("list", "dict", "set"):
            return {"list": [], "dict": {}, "set": []}[factory.id]
        field_value = keyword.get("default", body)
        if field_value is None:
            return _MISSING
        return _tolerated(static, module, field_value)
    return _tolerated(static, module, field.value)


def _tolerated(static: Static, module: Module, node: ast.expr) -> Any:
    """A default that cannot be read is computed when the engine starts."""
    try:
        return static.evaluate(node, Scope(module, {}))
    except LayoutError:
        return Ellipsis


def _by_type(static: Static, module: Module, kind: ast.expr, arg: dict[str, Any]) -> dict[str, Any]:
    """type, nargs, choices and action as add_cli_args_from_dataclass chooses them."""
    inner = _without_none(hints(static, kind, module))
    parser, choices = arg.get("type_parser"), arg.get("choices")
    const = {"const": arg["const"]} if arg.get("const") is not None else {}
    if inner.kind == "literal":
        first = Hint(type(inner.args[0]).__name__)
        return {"type": parser or _scalar((first,)), "choices": choices or list(inner.args)} | const
    if inner.kind == "list" and parser is None:
        element = _scalar(inner.args[0] if inner.args else (Hint("str"),))
        found = {"type": element, "nargs": arg.get("nargs") or "+"} | const
        return found | ({"choices": choices} if choices else {})
    if inner.kind == "bool":
        return {"action": "store_true"}
    found = {"type": parser or _scalar((inner,))} | const
    found |= {"choices": choices} if choices else {}
    return found | ({"nargs": arg["nargs"]} if arg.get("nargs") else {})


def _is_scalar(arguments: dict[str, Any]) -> bool:
    return "action" not in arguments and arguments.get("nargs") != "+" and "choices" not in arguments


def _without_none(alternatives: Hints) -> Hint:
    """``X`` of ``Optional[X]``; a union of several types is taken as text."""
    rest = [hint for hint in alternatives if hint.kind != "none"]
    return rest[0] if len(rest) == 1 else Hint("other")


def _scalar(element: Hints) -> Ref:
    name = element[0].kind if len(element) == 1 and element[0].kind in ("int", "float") else "str"
    return Ref("builtins", name)
