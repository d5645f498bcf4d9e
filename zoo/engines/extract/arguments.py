"""One ``add_argument`` call, recorded as an :class:`~zoo.engines.options.Option`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from zoo.engines.extract.source import LayoutError
from zoo.engines.extract.values import Converter, Ref, as_data, usable
from zoo.engines.options import Option

# type= by the full name of the function, as the wheels that were read define them.
_CONVERTERS = {
    "builtins.str": "str",
    "builtins.int": "int",
    "builtins.float": "float",
    "json.loads": "json",
    "sglang.srt.utils.common.human_readable_int": "si_int",
    "sglang.srt.utils.common.nullable_str": "str_or_none",
    "sglang.srt.utils.common.json_list_type": "json",
    "sglang.srt.model_executor.cuda_graph_config.parse_cuda_graph_config_arg": "json_of_objects",
    # Refuses a retired name, which is not among the choices either.
    "sglang.srt.model_executor.cuda_graph_config.parse_cuda_graph_backend_arg": "str",
    "vllm.utils.argparse_utils.human_readable_int": "binary_int",
    "vllm.utils.argparse_utils.human_readable_int_or_auto": "binary_int_or_auto",
    "vllm.engine.arg_utils.union_dict_and_str": "str_or_json",
    "vllm.engine.arg_utils.parse_reasoning_parser": "str",  # "none" becomes ""
    "lambda.lambda s: s.lower().replace('-', '_')": "lower_underscored",
    # --device-ids: a list by commas of numbers and names, which nothing can fail to be.
    "lambda.lambda s: [int(device_id) if device_id.isdigit() else device_id for device_id in "
    "(part.strip() for part in s.split(','))]": "str",
}
# Actions by the last part of their name: the kind of option, and whether it says that it is deprecated.
_ACTIONS = {
    "store": ("value", False),
    "store_true": ("flag", False),
    "append": ("append", False),
    "BooleanOptionalAction": ("toggle", False),
    "LoRAPathAction": ("value", False),
    "LoRAParserAction": ("value", False),
    "DeprecatedAction": ("flag", True),
    "DeprecatedStoreTrueAction": ("flag", True),
    "DeprecatedStoreConstAction": ("flag", True),
    "DeprecatedAliasStoreAction": ("value", True),
    "DeprecatedLogConfigFileAction": ("value", True),
}
_CONVERTS = {"LoRAParserAction": "lora_module"}  # actions that convert by themselves
_STORES_TRUE = ("store_true", "DeprecatedStoreTrueAction")
_KNOWN = frozenset(
    "action choices const const_value default deprecated dest help metavar nargs new_flag required "
    "type".split()
)
_DEPRECATED = re.compile(r"^\W*deprecated\b|^(?:\w+ )?\(?--[\w-]+\)? is deprecated\b", re.IGNORECASE)
_ADVICE_LIMIT = 120

# The names of a toggle and those of them that say False, from the names that it is registered with.
Toggle = Callable[[tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]]


def python_toggle(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """argparse.BooleanOptionalAction: each ``--x`` also as ``--no-x``."""
    every: list[str] = []
    for name in names:
        every += [name, f"--no-{name[2:]}"] if name.startswith("--") else [name]
    return tuple(every), tuple(name for name in every if name not in names)


@dataclass
class Recorder:
    """Stands for the ArgumentParser (and its groups) while ``add_cli_args`` is followed."""

    toggle: Toggle = python_toggle
    options: list[Option] = field(default_factory=list)

    def add_argument_group(self, place: str, *_: Any, **__: Any) -> Recorder:
        return self

    def add_argument(self, place: str, *names: str, **arguments: Any) -> None:
        option = as_option(place, names, arguments, self.toggle)
        taken = {name for each in self.options for name in each.names} & set(option.names)
        if taken:
            raise LayoutError(place, f"{min(taken)} is registered twice")
        self.options.append(option)

    def __getattr__(self, name: str) -> Any:
        raise LayoutError("add_cli_args", f"the parser's method {name} is not known")


def as_option(place: str, names: tuple[str, ...], arguments: dict[str, Any], toggle: Toggle) -> Option:
    """The option of ``add_argument(*names, **arguments)``.

    Raises:
        LayoutError: it has an argument, action or converter that is not known.
    """
    unknown = sorted(set(arguments) - _KNOWN)
    if unknown:
        raise LayoutError(place, f"{names[0]} is registered with {', '.join(unknown)}, which is not known")
    given = {key: value for key, value in arguments.items() if key not in ("default", "help")}
    given = {key: usable(value) for key, value in given.items()}
    kind, deprecated = _action(place, names[0], given.get("action"))
    nargs = given.get("nargs")
    if kind == "flag" and "nargs" in given and nargs is None:
        kind = "value"  # a DeprecatedStoreConstAction that takes a value and ignores it
    every, negative = toggle(names) if kind == "toggle" else (names, ())
    takes_value = kind in ("value", "append")
    if isinstance(given.get("action"), Ref) and given["action"].name in _CONVERTS:
        given["type"] = Converter(_CONVERTS[given["action"].name])
    choices = given.get("choices")
    return Option(
        names=every,
        dest=given.get("dest") or _dest(names),
        kind=kind,
        type=_converter(place, names[0], given.get("type")) if takes_value else None,
        choices=None if choices is None else tuple(as_data(_elements(place, names[0], choices))),
        default=as_data(arguments.get("default", _unset(given.get("action")))),
        nargs=nargs if takes_value else None,
        const=as_data(given.get("const_value", given.get("const"))),
        deprecated=_advice(arguments, given) if deprecated or _says_so(arguments) else None,
        required=bool(given.get("required", False)),
        negative=negative,
    )


def _dest(names: tuple[str, ...]) -> str:
    """As argparse derives it: of the first name with two dashes, else of the first."""
    name = next((each for each in names if each.startswith("--")), names[0])
    return name.lstrip("-").replace("-", "_")


def _action(place: str, name: str, action: Any) -> tuple[str, bool]:
    word = action.name if isinstance(action, Ref) else action or "store"
    if word not in _ACTIONS:
        raise LayoutError(place, f"{name} has the action {word}, which is not known")
    return _ACTIONS[word]


def _unset(action: Any) -> bool | None:
    """The default of an argument that is registered without one."""
    return False if (action.name if isinstance(action, Ref) else action) in _STORES_TRUE else None


def _converter(place: str, name: str, kind: Any) -> str:
    if kind is None:
        return "str"
    if isinstance(kind, Converter):
        return kind.name
    full = kind.full if isinstance(kind, Ref) else str(kind)
    if full not in _CONVERTERS:
        raise LayoutError(place, f"{name} is converted by {full}, which is not known")
    return _CONVERTERS[full]


def converter_name(kind: Any, place: str) -> str:
    """The name of a ``type=`` as a snapshot holds it."""
    return _converter(place, "a value", kind)


def _elements(place: str, name: str, choices: Any) -> list[Any]:
    if isinstance(choices, (set, frozenset)):
        return sorted(choices)
    if isinstance(choices, (list, tuple)):
        return list(choices)
    raise LayoutError(place, f"the choices of {name} cannot be read")


def _says_so(arguments: dict[str, Any]) -> bool:
    text = arguments.get("help")
    return arguments.get("deprecated") is True or (isinstance(text, str) and bool(_DEPRECATED.search(text)))


def _advice(arguments: dict[str, Any], given: dict[str, Any]) -> str:
    """What the engine says to use instead; "" where it says nothing."""
    if isinstance(given.get("new_flag"), str):
        return f"use {given['new_flag']}"
    text = arguments.get("help")
    if not isinstance(text, str):
        return ""
    text = " ".join(text.split())
    return text if len(text) <= _ADVICE_LIMIT else text[: _ADVICE_LIMIT - 1] + "…"
