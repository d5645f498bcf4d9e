"""SGLang's flags: the annotated fields of its layout, then ``ServerArgs.add_cli_args``.

Two layouts were read:

* 0.5.14: one dataclass, ``ServerArgs`` in srt/server_args.py (:func:`_dataclass`);
* 0.5.23: msgspec Structs in srt/arg_groups/fields/*.py, one per namespace (:func:`_structs`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from zoo.engines.extract.arguments import Recorder
from zoo.engines.extract.names import assigned
from zoo.engines.extract.sglang_fields import add_field, default_of
from zoo.engines.extract.source import LayoutError, Module, Source
from zoo.engines.extract.static import Static
from zoo.engines.options import Option

_SERVER_ARGS = "sglang.srt.server_args"
_FIELDS = "sglang.srt.arg_groups.fields"
_ADD = "sglang.srt.arg_groups.arg_utils.add_cli_args_from_dataclass"

Field = tuple[Module, ast.AnnAssign]


def options(source: Source) -> tuple[Option, ...]:
    """Every argument of ``sglang serve``, in the order in which they are added.

    Raises:
        LayoutError: the source is laid out in neither of the two ways.
    """
    module = source.needed(_SERVER_ARGS)
    fields = list(_structs(source, module) if source.module(_FIELDS) else _dataclass(module))
    if not fields:
        raise LayoutError(module.path, "no field of ServerArgs is found")
    recorder = Recorder()

    def add_fields(positional: list[Any], keyword: dict[str, Any], place: str) -> None:
        if keyword or len(positional) != 2:
            raise LayoutError(place, "add_cli_args_from_dataclass is called in another way")
        for home, field in fields:
            add_field(recorder, static, home, field)

    def declared(positional: list[Any], keyword: dict[str, Any], place: str) -> Any:
        named = {each.target.id: (home, each) for home, each in fields if isinstance(each.target, ast.Name)}
        if len(positional) != 1 or positional[0] not in named:
            raise LayoutError(place, f"there is no field {positional}")
        return default_of(static, *named[positional[0]])

    intrinsics = {_ADD: add_fields, f"{_SERVER_ARGS}._declared_default": declared}
    # Nobody has registered a parser when the arguments of a fresh process are read.
    static = Static(source, intrinsics, {"sys.modules": {}}, Recorder)
    server_args = static.lookup(module, "ServerArgs")
    method = static.class_attribute(server_args, "add_cli_args", module.path)
    static.run(method, [recorder], {}, module.path, server_args)
    return tuple(recorder.options)


def _dataclass(module: Module) -> Iterator[Field]:
    node = module.names.get("ServerArgs")
    if not isinstance(node, ast.ClassDef):
        raise LayoutError(module.path, "there is no class ServerArgs")
    yield from ((module, each) for each in node.body if isinstance(each, ast.AnnAssign))


def _structs(source: Source, module: Module) -> Iterator[Field]:
    """The fields of every struct with a namespace, in the order that positional arguments have."""
    found: dict[str, Field] = {}
    for name in source.children(_FIELDS):
        home = source.needed(name)
        for node in home.tree.body:
            if isinstance(node, ast.ClassDef) and _has_namespace(node):
                for each in node.body:
                    if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                        found[each.target.id] = (home, each)
    order = source.needed("sglang.srt.arg_groups.field_order")
    names = order.names.get("POSITIONAL_FIELD_ORDER")
    if not isinstance(names, ast.Tuple):
        raise LayoutError(order.path, "POSITIONAL_FIELD_ORDER is no tuple")
    first = [each.value for each in names.elts if isinstance(each, ast.Constant) and each.value in found]
    yield from (found[str(name)] for name in dict.fromkeys([*first, *found]))


def _has_namespace(node: ast.ClassDef) -> bool:
    return any(assigned(each, "_NS_PATH") is not None for each in node.body)
