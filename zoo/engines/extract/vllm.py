"""vLLM's flags: ``make_arg_parser`` of ``vllm serve``, and get_kwargs from the fields of config classes.

Read in 0.33.0: entrypoints/common/cli_args.py and engine/arg_utils.py. The machine is assumed to be CUDA's.
"""

from __future__ import annotations

import ast
from typing import Any

from zoo.engines.extract.arguments import Recorder, converter_name, python_toggle
from zoo.engines.extract.hints import Hint, Hints, hints
from zoo.engines.extract.names import Scope
from zoo.engines.extract.source import LayoutError, Module, Source
from zoo.engines.extract.static import Static
from zoo.engines.extract.values import Converter, Ref, Unreadable, as_data
from zoo.engines.options import Option

_ARG_UTILS = "vllm.engine.arg_utils"
_CLI_ARGS = "vllm.entrypoints.common.cli_args"
# Fields of this name take 4k and 4K, wherever they stand (arg_utils.py, _compute_kwargs).
_SUFFIXED = frozenset(
    "max_num_batched_tokens max_num_scheduled_tokens kv_cache_memory_bytes "
    "safetensors_prefetch_block_size max_num_queued_tokens".split()
)
_ASSUMED = {
    "sys.argv": ["vllm", "serve"],
    "vllm.platforms.current_platform.device_type": "cuda",
    "vllm.envs.VLLM_SERVER_DEV_MODE": False,
}
_PLATFORM = "vllm.platforms.current_platform.pre_register_and_update"  # CUDA's does nothing
_LISTED = "vllm.tool_parsers.abstract_tool_parser.ToolParserManager.list_registered"
# dest -> the table of parsers that the engine looks the value up in, once arguments are parsed and plugins
# are loaded (cli_args.py, validate_api_server_args).
_PARSERS = {
    "tool_call_parser": ("vllm.tool_parsers", "_TOOL_PARSERS_TO_REGISTER"),
    "reasoning_parser": ("vllm.reasoning", "_REASONING_PARSERS_TO_REGISTER"),
}
_INVERSE = {"--enable-": "--disable-", "--disable-": "--enable-"}


def options(source: Source) -> tuple[Option, ...]:
    """Every argument of ``vllm serve``, the positional first.

    Raises:
        LayoutError: the source is laid out in another way.
    """
    module = source.needed(_CLI_ARGS)
    recorder = Recorder(toggle=_toggle)

    def get_kwargs(positional: list[Any], keyword: dict[str, Any], place: str) -> dict[str, Any]:
        if keyword or len(positional) != 1 or not isinstance(positional[0], Ref):
            raise LayoutError(place, "get_kwargs is called in another way")
        return _kwargs(static, positional[0], place)

    def nothing(positional: list[Any], keyword: dict[str, Any], place: str) -> None:
        return None

    def nothing_listed(positional: list[Any], keyword: dict[str, Any], place: str) -> list[str]:
        return []  # for the help text; _PARSERS has them

    def get_args(positional: list[Any], keyword: dict[str, Any], place: str) -> tuple[Any, ...]:
        return tuple(positional[0])

    def optional(positional: list[Any], keyword: dict[str, Any], place: str) -> Converter:
        return Converter(f"optional[{converter_name(positional[0], place)}]")

    intrinsics = {
        f"{_ARG_UTILS}.get_kwargs": get_kwargs,
        f"{_ARG_UTILS}.optional_type": optional,
        "typing.get_args": get_args,
        "vllm.plugins.load_general_plugins": nothing,
        _PLATFORM: nothing,
        _LISTED: nothing_listed,
    }
    static = Static(source, intrinsics, _ASSUMED, Recorder)
    maker = static.lookup(module, "make_arg_parser")
    static.run(maker, [recorder], {}, module.path, None)
    return tuple(_with_parsers(static, each) for each in recorder.options)


def _with_parsers(static: Static, option: Option) -> Option:
    if option.dest not in _PARSERS:
        return option
    package, table = _PARSERS[option.dest]
    known = static.lookup(static.source.needed(package), table)
    return option._replace(known=tuple(sorted(known)))


def _toggle(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """EnableDisableAction (argparse_utils.py): a Python toggle, and ``--disable-x`` beside ``--enable-x``."""
    every, negative = python_toggle(names)
    inverses = tuple(
        other + name.removeprefix(prefix)
        for name in names
        for prefix, other in _INVERSE.items()
        if name.startswith(prefix)
    )
    return (*every, *inverses), (*negative, *inverses)


def _kwargs(static: Static, cls: Ref, place: str) -> dict[str, Any]:
    """Field -> keyword arguments of add_argument; a field that cannot be read fails where it is used."""
    found: dict[str, Any] = {}
    for each in reversed(static.lineage(cls)):
        assert isinstance(each.node, ast.ClassDef)
        assert each.home is not None
        for statement in each.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            if ast.unparse(statement.annotation).startswith(("ClassVar", "InitVar")):
                continue
            try:
                found[statement.target.id] = _field(static, each.home, statement, statement.target.id)
            except LayoutError as error:
                found[statement.target.id] = Unreadable(error)
    if not found:
        raise LayoutError(place, f"{cls.full} has no fields")
    return found


def _field(static: Static, home: Module, field: ast.AnnAssign, name: str) -> dict[str, Any]:
    alternatives = hints(static, field.annotation, home)
    arguments: dict[str, Any] = {"default": _default(static, home, field), "help": ""}
    arguments |= _by_type(alternatives, name)
    kinds = {hint.kind for hint in alternatives}
    place = home.place(field)
    if not arguments.keys() & {"type", "action"}:
        raise LayoutError(place, f"the type of {name} is not known: {ast.unparse(field.annotation)}")
    if "none" in kinds and "bool" not in kinds:
        arguments["type"] = Converter(f"optional[{converter_name(arguments['type'], place)}]")
        if "choices" in arguments:
            arguments["choices"].append(None)
    return arguments


def _by_type(alternatives: Hints, name: str) -> dict[str, Any]:
    """type, nargs, choices and action as _compute_kwargs chooses them, tested in its order."""
    first = {hint.kind: hint for hint in reversed(alternatives)}
    kinds = set(first)
    if any(hint.is_dataclass for hint in alternatives):
        return {"type": Converter("object_suffixed")}
    if kinds == {"bool", "str", "none"}:
        return {"type": Converter("str"), "nargs": "?", "const": True}
    if "bool" in kinds:
        return {"action": "BooleanOptionalAction"}
    if "literal" in kinds:
        return _literal(first["literal"], with_text="str" in kinds)
    for kind in ("tuple", "list", "set"):
        if kind in kinds:
            return _collection(first[kind])
    if "int" in kinds:
        if name == "max_model_len":
            return {"type": Converter("binary_int_or_auto")}
        return {"type": Converter("binary_int" if name in _SUFFIXED else "int")}
    if "float" in kinds:
        return {"type": Converter("float")}
    if "dict" in kinds:
        mixed = bool(kinds & {"str", "other", "class"})
        return {"type": Converter("str_or_json" if mixed else "json")}
    if kinds & {"str", "other", "class"}:
        return {"type": Converter("str")}
    return {}


def _literal(literal: Hint, *, with_text: bool) -> dict[str, Any]:
    """The choices, unless any text is taken beside them."""
    kind = {"type": Converter(type(literal.args[0]).__name__)}
    return kind if with_text else kind | {"choices": sorted(literal.args)}


def _collection(hint: Hint) -> dict[str, Any]:
    element = hint.args[0] if hint.args else (Hint("str"),)
    open_ended = hint.kind != "tuple" or ("...",) in hint.args
    nargs: Any = "+" if open_ended else len(hint.args)
    if len(element) == 1 and element[0].kind == "literal":
        return {"nargs": nargs} | _literal(element[0], with_text=False)
    kind = element[0].kind if len(element) == 1 and element[0].kind in ("int", "float") else "str"
    return {"type": Converter(kind), "nargs": nargs}


def _default(static: Static, home: Module, field: ast.AnnAssign) -> Any:
    """The default as JSON; ``...`` for one that is built when the engine starts."""
    node = field.value
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Field", "field")):
        keyword = {each.arg: each.value for each in node.keywords}
        node = keyword.get("default", node.args[0] if node.args else None)
        if node is None or "default_factory" in keyword:
            return Ellipsis
    if node is None:
        return Ellipsis
    try:
        return as_data(static.evaluate(node, Scope(home, {})))
    except LayoutError:
        return Ellipsis
