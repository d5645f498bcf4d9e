"""Strict JSON: what two readers could understand differently, or one could choke on, is an error here.

``json.load`` accepts duplicate keys (the last wins; other readers take the first), NaN and Infinity, lone
surrogates and numbers that overflow elsewhere. :func:`decode` is the one JSON decoder of the package, also
for safetensors headers; :func:`read_json` reads a small file such as ``config.json`` with it.
"""

from __future__ import annotations

import codecs
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from zoo.checkpoint.collect import Findings
from zoo.checkpoint.content import SNIFFED_BYTES, identify, open_regular, read_up_to
from zoo.printable import quoted
from zoo.results import Finding

# The config.json of a draft has about 2 kB; 4 MiB leaves room for the longest quantization ignore lists.
SIZE_LIMIT = 4 * 1024 * 1024
DEPTH_LIMIT = 64
_NUMBER_LIMIT = 2**64
# Far more than the header or the index of any model has (ten for each of 100,000 tensors), and some 100 MB in
# memory: "[],[],[]" takes twenty times its own size.
VALUE_LIMIT = 1_000_000


class MalformedJson(ValueError):
    """The text is not JSON. ``reason`` says why and holds no text of the file; ``line`` and ``column`` count
    from 1."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


class Repeated(dict[str, Any]):
    """A JSON object with duplicate keys, named in ``keys_repeated``. The last value wins, as in
    ``json.load``."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs)
        self.keys_repeated = tuple(key for key, count in counts.items() if count > 1)


class JsonCodes(NamedTuple):
    """The rule codes under which :func:`read_json` reports: not a JSON object, a duplicate key, NaN or
    Infinity."""

    unreadable: str
    duplicate: str
    non_finite: str


def decode(raw: bytes, *, values: int = VALUE_LIMIT) -> Any:
    """Decode a JSON text of at most so many ``values``. Objects with duplicate keys come back as
    :class:`Repeated`, NaN and overflowing floats as float, and the integer ``-0`` as the float that every
    other JSON reader makes of it.

    Raises MalformedJson: not UTF-8, a byte order mark, a syntax error, an integer of thousands of digits,
    nesting beyond what the interpreter's stack allows, too many values.
    """
    if raw.startswith(codecs.BOM_UTF8):
        raise MalformedJson("it starts with a byte order mark", 1, 1)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJson(f"byte 0x{raw[error.start]:02x} at offset {error.start:,} is not UTF-8") from None
    if sum(raw.count(each) for each in (b",", b"[", b"{")) > values:  # one stands before each but the first
        raise MalformedJson(f"it holds more than {values:,} values")
    try:
        # The hook costs a Python call per integer, so it is used only if a "-0" (rare, even in names) occurs.
        return json.loads(text, object_pairs_hook=_object, parse_int=_integer if "-0" in text else None)
    except json.JSONDecodeError as error:
        raise MalformedJson(f"{error.msg} at character {error.pos:,}", error.lineno, error.colno) from None
    except RecursionError:
        raise MalformedJson("it is nested too deeply") from None
    except ValueError:  # sys.set_int_max_str_digits: int() refuses 4,300 digits and more
        raise MalformedJson("it holds an integer of thousands of digits") from None


def pointer(*parts: str | int) -> str:
    """The JSON pointer (RFC 6901) of the value below ``parts``: ``pointer("a/b", 0)`` is ``/a~1b/0``."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def read_json(
    path: Path, name: str, codes: JsonCodes, *, size_limit: int = SIZE_LIMIT, values: int = VALUE_LIMIT
) -> tuple[dict[str, Any] | None, tuple[Finding, ...]]:
    """Read the JSON object in ``path``, called ``name`` in findings. Never raises.

    The value is None if the file is no JSON object at all. Duplicate keys and NaN are findings, and the value
    is what ``json.load`` makes of it, because that is what an engine will see.
    """
    found = Findings(name)
    try:
        with open_regular(path) as file:
            raw = read_up_to(file, size_limit + 1)
    except OSError as error:
        found.add(codes.unreadable, f"cannot be read ({error.strerror})", "check the permissions of the file")
        return None, found.result()
    if len(raw) > size_limit:
        found.add(codes.unreadable, f"more than {size_limit:,} bytes", "check that it is the right file")
        return None, found.result()
    try:
        value = decode(raw, values=values)
    except MalformedJson as error:
        content = identify(raw[:SNIFFED_BYTES], len(raw))
        if content is None or content.code in ("F014", "F018"):
            fact = f"not JSON: {error.reason}"
            again = f"write {quoted(name)} again as JSON in UTF-8"
            hint = "mend the JSON at this place" if error.line else again
            found.add(codes.unreadable, fact, hint, line=error.line, column=error.column)
        else:
            found.add(codes.unreadable, f"not JSON but {content.what}", content.hint)
        return None, found.result()
    if not isinstance(value, dict):
        found.add(codes.unreadable, "the JSON value is not an object", "write one object: {...}")
        return None, found.result()
    usable = _inspect(value, codes, found)
    return value if usable else None, found.result()


def _inspect(top: dict[str, Any], codes: JsonCodes, found: Findings) -> bool:
    """Record what is wrong inside ``top``. False if it must not be handed on."""
    usable = True
    for parts, value in walk(top):
        if len(parts) > DEPTH_LIMIT:
            found.add(codes.unreadable, f"nested more than {DEPTH_LIMIT} levels deep", "flatten it")
            return False
        if isinstance(value, Repeated):
            for key in value.keys_repeated:
                fact = f"the key {quoted(key)} occurs more than once in one object"
                found.add(codes.duplicate, fact, "keep one of them", pointer=pointer(*parts, key))
        elif isinstance(value, float) and not math.isfinite(value):
            at = pointer(*parts)
            fact = f"the number at {quoted(at)} is not finite"
            found.add(codes.non_finite, fact, "write a finite number, or null", pointer=at)
        elif (problem := _problem(value)) is not None:
            at = pointer(*parts)
            fact, hint = f"the value at {quoted(at)} {problem}", "write a value that every reader understands"
            found.add(codes.unreadable, fact, hint, pointer=at)
            usable = False
    return usable


def _problem(value: Any) -> str | None:
    """Why no other reader could be trusted to understand the scalar ``value``, or None."""
    if isinstance(value, int) and abs(value) >= _NUMBER_LIMIT:
        return "does not fit 64 bits"
    if isinstance(value, str) and not is_unicode(value):
        return "is not valid Unicode"
    return None


def walk(top: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value below ``top``, and every key as a value at its own place, with its path; without
    recursion."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), top)]
    while stack:
        parts, value = stack.pop()
        yield parts, value
        if isinstance(value, dict):
            for key, below in reversed(value.items()):
                yield (*parts, key), key
                stack.append(((*parts, key), below))
        elif isinstance(value, list):
            stack.extend(((*parts, index), value[index]) for index in reversed(range(len(value))))


def is_unicode(text: str) -> bool:
    """False if ``text`` holds half of a surrogate pair (JSON ``"\\ud800"``), which no UTF-8 can express."""
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else Repeated(pairs)


def _integer(digits: str) -> int | float:
    return -0.0 if digits == "-0" else int(digits)
