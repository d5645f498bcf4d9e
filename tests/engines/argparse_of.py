"""A real argparse.ArgumentParser with the options of a snapshot: the judge that ours is compared with."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from zoo.engines.converters import converter
from zoo.engines.options import Option, Snapshot


class _Store(argparse.Action):
    """Takes no value and stores one, under any number of names: a flag or a toggle."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **rest)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, option_string)


class Refused(Exception):
    """argparse would have printed its usage, or the help, and have exited."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)

    def print_help(self, file: Any = None) -> None:
        raise Refused("help")


def parser_of(snapshot: Snapshot) -> argparse.ArgumentParser:
    """Every option of ``snapshot`` added with add_argument, in its order."""
    parser = _Parser(prog=snapshot.engine)
    for option in snapshot.options:
        names = ("model_tag",) if option.positional else option.names
        dest = {} if option.positional else {"dest": option.dest, "default": argparse.SUPPRESS}
        if option.takes_value:
            arguments: dict[str, Any] = {"type": _convert(option), "choices": option.choices}
            arguments["action"] = "append" if option.kind == "append" else "store"
            if option.nargs is not None:
                arguments["nargs"] = option.nargs
            if option.required:
                arguments["required"] = True
            parser.add_argument(*names, **dest, **arguments)
        else:
            parser.add_argument(*names, **dest, action=_Store)
    return parser


def _convert(option: Option) -> Callable[[str], Any]:
    return converter(option.type or "str")


def accepts(parser: argparse.ArgumentParser, tokens: Sequence[str]) -> argparse.Namespace | None:
    """What argparse makes of ``tokens``; None where it would exit."""
    try:
        return parser.parse_args(list(tokens))
    except Refused:
        return None
