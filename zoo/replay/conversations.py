"""Conversations to record, from a JSONL file: every line is checked before anything is written.

    {"input_ids": [1, 2, 3]}
    {"name": "weather", "domain": "agent", "messages": [{"role": "user", "content": "..."}]}
    {"text": "Once upon a time", "continuation_ids": [7, 8, 9], "temperature": 0}

``messages`` go through the chat template of the target's tokenizer, up to where the assistant begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from zoo.checkpoint.content import open_regular, read_up_to
from zoo.checkpoint.jsonfile import MalformedJson, Repeated, decode
from zoo.digests import canonical_json, sha256_hex
from zoo.errors import UnreadableError, UsageError
from zoo.printable import printable, quoted
from zoo.recipe.names import is_name
from zoo.recipe.validate import did_you_mean

MAIN = "main"
SIZE_LIMIT = 256 * 1024 * 1024
_KEYS = ("name", "domain", "input_ids", "text", "messages", "continuation_ids", "temperature")
_SOURCES = ("input_ids", "text", "messages")
_HINT = "mend the line; nothing was recorded"


@dataclass(frozen=True, slots=True)
class Asked:
    """A conversation to record. ``continuation`` None: the target's greedy one. ``temperature`` is that of a
    given continuation, None where the line does not state it."""

    name: str
    domain: str
    prompt: tuple[int, ...]
    continuation: tuple[int, ...] | None
    temperature: float | None


@dataclass(frozen=True, slots=True)
class Limits:
    """What token ids and lengths must fit: the target's vocabulary and context (None: not known), the
    tokens that will be generated, and those beyond the end."""

    vocab_size: int
    context: int | None
    max_new_tokens: int
    beyond: int = 0


class Tokenizer:
    """The tokenizer of a model folder, loaded by transformers when a line needs it. No remote code."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @cached_property
    def _loaded(self) -> Any:
        if self._folder is None:
            raise UsageError(
                "text and messages need the target's tokenizer", hint="give its folder: --model FOLDER"
            )
        try:
            import transformers
        except ImportError:
            raise UsageError(
                "text and messages need transformers", hint="pip install 'draft-zoo[torch]'"
            ) from None
        try:
            return transformers.AutoTokenizer.from_pretrained(
                self._folder, local_files_only=True, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError, ImportError) as error:
            reason = printable(str(error).strip().split("\n")[0], limit=200)
            raise UnreadableError(
                f"the target's tokenizer cannot be loaded: {reason}",
                hint="check the tokenizer files in the folder of the target",
            ) from error

    def text(self, text: str) -> list[int]:
        """As an engine encodes a prompt: with the special tokens that the tokenizer adds by itself."""
        return list(self._loaded(text)["input_ids"])

    def messages(self, messages: list[Any]) -> list[int]:
        tokenizer = self._loaded  # outside: what it raises is not about the messages
        try:
            ids = tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=True, return_dict=False
            )
        except Exception as error:  # a template may raise anything
            reason = printable(str(error).strip().split("\n")[0], limit=200)
            raise ValueError(f"the chat template refuses the messages: {reason}") from error
        return list(ids)


def read_conversations(
    path: Path, limits: Limits, tokenizer: Tokenizer, *, domain: str = "", top: int | None = None
) -> tuple[tuple[Asked, ...], str]:
    """The conversations of a file, and the main domain: ``domain``, else that of the first line, else "main".
    ``top`` keeps the first so many of each domain.

    Raises:
        UnreadableError: the file, or the tokenizer that a line needs, cannot be read.
        UsageError: a line is not a conversation; the message has file and line. Or it needs a library or a
            tokenizer that is not there.
    """
    shown = printable(str(path), limit=200)
    asked: list[Asked] = []
    main, names, kept = domain, dict[str, int](), dict[str, int]()
    for number, line in _lines(path, shown):
        try:
            one = _conversation(line, number, main or MAIN, limits, tokenizer)
            if one.name in names:
                raise ValueError(f"the name {quoted(one.name)} is that of line {names[one.name]}")
        except ValueError as error:
            raise UsageError(f"{shown}:{number}: {error}", hint=_HINT) from error
        except (UsageError, UnreadableError) as error:  # the line is right, what it needs is not here
            raise type(error)(f"{shown}:{number}: {error.message}", hint=error.hint) from error
        names[one.name] = number
        main = main or one.domain
        kept[one.domain] = kept.get(one.domain, 0) + 1
        if top is None or kept[one.domain] <= top:
            asked.append(one)
    if not asked:
        raise UsageError(f"{shown} has no conversations", hint='write lines like {"input_ids": [1, 2, 3]}')
    if main not in kept:
        raise UsageError(
            f"{shown} has no conversation of the main domain {quoted(main)}",
            hint=f"name one of: {', '.join(sorted(kept))}",
        )
    return tuple(asked), main


def conversations_digest(asked: tuple[Asked, ...]) -> str:
    """The sha256 of the canonical JSON of what was asked for."""
    document = [[a.name, a.domain, a.prompt, a.continuation, a.temperature] for a in asked]
    return sha256_hex(canonical_json(document))


def _lines(path: Path, shown: str) -> Iterator[tuple[int, bytes]]:
    try:
        with open_regular(path) as file:
            raw = read_up_to(file, SIZE_LIMIT + 1)
    except OSError as error:
        raise UnreadableError(f"{shown}: {error.strerror or error}", hint="check the path") from error
    if len(raw) > SIZE_LIMIT:
        raise UnreadableError(f"{shown} has more than {SIZE_LIMIT:,} bytes", hint="split it")
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            yield number, line


def _conversation(line: bytes, number: int, domain: str, limits: Limits, tokenizer: Tokenizer) -> Asked:
    """One line. Raises ValueError."""
    try:
        data = decode(line)
    except MalformedJson as error:
        raise ValueError(f"not JSON: {error.reason}") from error
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    if isinstance(data, Repeated):
        raise ValueError(f"the key {quoted(data.keys_repeated[0])} occurs more than once")
    for key in data:
        if key not in _KEYS:
            known = did_you_mean(key, _KEYS) or f" Known: {', '.join(_KEYS)}"
            raise ValueError(f"unknown key {quoted(key)}.{known}")
    stated = [key for key in _SOURCES if key in data]
    if len(stated) != 1:
        raise ValueError(f"has {' and '.join(stated) or 'no prompt'}: give one of {', '.join(_SOURCES)}")
    name, own = data.get("name", f"{number:04d}"), data.get("domain", domain)
    if not isinstance(name, str) or not name or len(name) > 200 or printable(name, keep="") != name:
        raise ValueError('"name" is not a text of 1 to 200 printable characters')
    if not isinstance(own, str) or not is_name(own):
        raise ValueError('"domain" is not a name (lower-case letters, digits, dots and dashes)')
    prompt = _prompt(data, tokenizer, limits)
    continuation = data.get("continuation_ids")
    if continuation is not None:
        continuation = _ids(continuation, "continuation_ids", limits)
    temperature = data.get("temperature")
    if temperature is not None and (continuation is None or not _is_number(temperature)):
        raise ValueError('"temperature" is not a number from 0 up that belongs to continuation_ids')
    length = len(prompt) + (limits.max_new_tokens if continuation is None else len(continuation))
    length += limits.beyond
    if limits.context is not None and length > limits.context:
        raise ValueError(f"takes {length:,} tokens, and the target has positions for {limits.context:,}")
    return Asked(name, own, prompt, continuation, None if temperature is None else float(temperature))


def _prompt(data: Mapping[str, Any], tokenizer: Tokenizer, limits: Limits) -> tuple[int, ...]:
    if "input_ids" in data:
        return _ids(data["input_ids"], "input_ids", limits)
    if "text" in data:
        if not isinstance(data["text"], str):
            raise ValueError('"text" is not a text')
        return _ids(tokenizer.text(data["text"]), "text", limits)
    messages = data["messages"]
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        raise ValueError('"messages" is not a list of objects with role and content')
    if messages[-1].get("role") == "assistant":
        raise ValueError("the last message is the assistant's; end with the one that it answers")
    return _ids(tokenizer.messages(messages), "messages", limits)


def _ids(value: Any, key: str, limits: Limits) -> tuple[int, ...]:
    if not isinstance(value, list) or not value or not all(type(each) is int for each in value):
        raise ValueError(f'"{key}" gives no list of token ids with at least one')
    wrong = next((each for each in value if not 0 <= each < limits.vocab_size), None)
    if wrong is not None:
        raise ValueError(f'"{key}" has the id {wrong}, and the vocabulary ends at {limits.vocab_size - 1:,}')
    return tuple(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")
