"""What ``type=`` of an engine's argument accepts, by the converter's name in a snapshot.

Each returns the value that the engine compares with the choices, or raises ValueError. Where the engine
builds an object of its own of a JSON text, only the text is judged: whether the keys are right needs it.
``optional[NAME]`` is NAME, with "" and "None" for no value (vLLM, engine/arg_utils.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

Converter = Callable[[str], Any]

_SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SUFFIXED = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
_JSON_STRING = re.compile(r'("(?:[^"\\]|\\.)*")')
_OPTIONAL = re.compile(r"optional\[(.*)\]")


def converter(name: str) -> Converter:
    """The converter of this name.

    Raises:
        KeyError: no converter is called so; the snapshot is newer than this zoo.
    """
    inner = _OPTIONAL.fullmatch(name)
    if inner is None:
        return CONVERTERS[name]
    convert = CONVERTERS[inner[1]]
    return lambda text: None if text in ("", "None") else convert(text)


def _str_or_none(text: str) -> str | None:
    return None if text in ("", "None") else text


def _si_int(text: str) -> int:
    """SGLang: ``4096``, ``4k`` (SI) or ``4Ki`` (IEC)."""
    text = text.strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)", text)
    if match is None:
        return int(text)
    number, suffix = match.groups()
    return int(number) * _IEC[suffix] if suffix in _IEC else int(Decimal(number) * _SI[suffix])


def _binary_int(text: str) -> int:
    """vLLM: ``4096``, ``4k`` (1000) or ``4K`` (1024)."""
    text = text.strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", text)
    if match is None:
        return int(text)
    number, suffix = match.groups()
    return int(float(number) * _DECIMAL[suffix]) if suffix in _DECIMAL else int(number) * _BINARY[suffix]


def _binary_int_or_auto(text: str) -> int:
    return -1 if text.strip().lower() in ("-1", "auto") else _binary_int(text)


def _json_of_objects(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise ValueError("not a JSON object of objects")
    return value


def _object_suffixed(text: str) -> dict[str, Any]:
    """A JSON object in which ``80g`` stands for a number, outside strings (vLLM's config classes)."""
    parts = _JSON_STRING.split(text)
    parts[::2] = [_SUFFIXED.sub(lambda match: str(_binary_int(match[0])), part) for part in parts[::2]]
    value = json.loads("".join(parts))
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _str_or_json(text: str) -> Any:
    return json.loads(text) if re.match(r"(?s)^\s*{.*}\s*$", text) else text


def _lora_module(text: str) -> Any:
    """vLLM's LoRAParserAction: ``name=path`` or a JSON object."""
    if text == "" or ("=" in text and "," not in text):
        return text
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("neither name=path nor a JSON object")
    return value


CONVERTERS: dict[str, Converter] = {
    "str": str,
    "int": int,
    "float": float,
    "json": json.loads,
    "str_or_none": _str_or_none,
    "si_int": _si_int,
    "binary_int": _binary_int,
    "binary_int_or_auto": _binary_int_or_auto,
    "json_of_objects": _json_of_objects,
    "object_suffixed": _object_suffixed,
    "str_or_json": _str_or_json,
    "lora_module": _lora_module,
    "lower_underscored": lambda text: text.lower().replace("-", "_"),
}
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "json": "JSON",
    "json_of_objects": "a JSON object of objects",
    "object_suffixed": "a JSON object",
    "str_or_json": "text or a JSON object",
    "lora_module": "name=path or a JSON object",
    "si_int": "a whole number such as 4096, 4k or 4Ki",
    "binary_int": "a whole number such as 4096, 4k or 4K",
    "binary_int_or_auto": 'a whole number such as 4096, 4k or 4K, or "auto"',
}


def in_words(name: str) -> str:
    """What the converter takes, for people."""
    inner = _OPTIONAL.fullmatch(name)
    return WORDS.get(inner[1] if inner else name, "another value")
