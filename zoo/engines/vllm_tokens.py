"""What vLLM does to its tokens before argparse sees them (0.33.0, utils/argparse_utils.py, parse_args)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from zoo.engines.converters import converter

_MODEL = re.compile(r"^--model(=.+|$)")
_SERVED_NAME = re.compile(r"^--served[-_]model[-_]name(=.+|$)")
_CONFIG = re.compile(r"^--config(=.+|$)")
_NAME = re.compile(r"(?<=--)[^.]*")


@dataclass(frozen=True, slots=True)
class Word:
    """A token as argparse sees it, and the index of the token that the user wrote."""

    text: str
    index: int


class RefusedTokensError(Exception):
    """vLLM stops before argparse. ``index`` is the token, ``hint`` the way out."""

    def __init__(self, index: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.index = index
        self.message = message
        self.hint = hint


def rewritten(tokens: Sequence[str], *, subcommand: bool) -> list[Word]:
    """The words that argparse gets; ``subcommand``: after ``vllm serve``, not after ``python -m vllm...``.

    Underscores in names become dashes, ``-O3`` is ``--optimization-level 3``, ``--a.b v`` is
    ``--a '{"b": v}'``, and after ``vllm serve`` the value of ``--model`` is moved to the front.

    Raises:
        RefusedTokensError: vLLM raises an error here.
    """
    words = [Word(token, index) for index, token in enumerate(tokens)]
    if subcommand:
        words = _model_first(words)
    spelled: list[Word] = []
    for position, word in enumerate(words):
        after = words[position + 1].text if position + 1 < len(words) else ""
        spelled += _spelled(word, after)
    return _joined(spelled)


def _model_first(words: list[Word]) -> list[Word]:
    at = next((position for position, word in enumerate(words) if _MODEL.match(word.text)), None)
    if at is not None:
        if words[at].text != "--model":
            model, rest = replace(words[at], text=words[at].text.removeprefix("--model=")), at + 1
        elif at + 1 < len(words):
            model, rest = words[at + 1], at + 2
        else:
            raise RefusedTokensError(words[at].index, "--model needs a value", "give it")
        words = [model, *words[:at], *words[rest:]]
    named = next((word for word in words if _SERVED_NAME.match(word.text)), None)
    configured = any(_CONFIG.match(word.text) for word in words)
    if words and words[0].text.startswith("-") and named is not None and not configured:
        message = f"vLLM refuses {named.text.partition('=')[0]} unless the model comes first"
        raise RefusedTokensError(named.index, message, "write: vllm serve MODEL --flag value ...")
    return words


def _spelled(word: Word, after: str) -> list[Word]:
    text = word.text
    if text.startswith("--help="):
        return [replace(word, text="--help")]
    if text.startswith("--"):
        key, equals, value = text.partition("=")
        key = _NAME.sub(lambda match: match[0].replace("_", "-"), key, count=1)
        return [replace(word, text=key + equals + value)]
    if text.startswith("-O") and text != "-O":
        level = text[3:] if text[2] == "=" else text[2:]
        return [replace(word, text="--optimization-level"), replace(word, text=level)]
    if text == "-O" and after in ("0", "1", "2", "3"):
        return [replace(word, text="--optimization-level")]
    return [word]


def _joined(words: list[Word]) -> list[Word]:
    """Names with a dot collected into one JSON value each, at the end."""
    kept: list[Word] = []
    trees: dict[str, tuple[Word, dict[str, Any]]] = {}
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        name, equals, value = word.text.partition("=")
        if not word.text.startswith("-") or "." not in name:
            kept.append(word)
            continue
        if not equals:
            if position == len(words):
                raise RefusedTokensError(word.index, f"{name} needs a value", "give it")
            value = words[position].text
            position += 1
        if name.endswith("+"):
            name, value = name[:-1], json.dumps(value.split(","))
        key, *keys = name.split(".")
        _, tree = trees.setdefault(key, (word, {}))
        _merge(tree, _nested(keys, _value(value)))
    for key, (word, tree) in trees.items():
        kept += [replace(word, text=key), replace(word, text=json.dumps(tree))]
    return kept


def _value(text: str) -> Any:
    for read in (json.loads, converter("binary_int")):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _nested(keys: list[str], value: Any) -> dict[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    found: dict[str, Any] = value
    return found


def _merge(tree: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        before = tree.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            _merge(before, value)
        elif isinstance(value, list) and isinstance(before, list):
            tree[key] = before + value
        else:
            tree[key] = value
