"""Model cards: the YAML metadata at the top of README.md, and what the Hub says of it.

The vocabulary is the Hub's as far as it is public (licences: huggingface.co/docs/hub/repositories-licenses;
metadata: hub-docs modelcard.md); the Hub itself knows more rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

from zoo.hub.licenses import LICENSES

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n?^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*|code|multilingual")
_SIZE_LIMIT = 256 * 1024
_NO_METADATA = "empty or missing yaml metadata in repo card"


class _Invalid(Exception):
    """The metadata cannot be read; the message says why."""


def metadata_of(content: bytes) -> dict[str, Any] | None:
    """The metadata of a README, as plain data that JSON can say, or None."""
    try:
        return _read(content)
    except _Invalid:
        return None


def problems_of(content: bytes) -> tuple[list[str], list[str]]:
    """The errors and the warnings about the metadata of a README."""
    try:
        data = _read(content)
    except _Invalid as error:
        return [str(error)], []
    if not data:
        return [], [_NO_METADATA]
    return list(_errors(data)), []


def _read(content: bytes) -> dict[str, Any] | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError
    from ruamel.yaml.events import AliasEvent

    try:
        match = _FRONT.match(content.decode())
    except UnicodeDecodeError:
        raise _Invalid("README.md is not UTF-8") from None
    if match is None or not match[1].strip():
        return None
    if len(match[1]) > _SIZE_LIMIT:
        raise _Invalid(f"the YAML metadata is longer than {_SIZE_LIMIT} bytes")
    try:
        # An alias lets a few lines grow to gigabytes ("billion laughs"), and no card needs one.
        if any(
            isinstance(event, AliasEvent) for event in YAML(typ="safe", pure=True).parse(StringIO(match[1]))
        ):
            raise _Invalid("Invalid YAML in README.md: aliases are not allowed")
        data = YAML(typ="safe", pure=True).load(match[1])
    except (YAMLError, ValueError, RecursionError) as error:
        first = str(error).strip().splitlines()[:1]
        raise _Invalid("Invalid YAML in README.md: " + "".join(first)) from None
    if not isinstance(data, dict):
        raise _Invalid("the YAML metadata of README.md must be a mapping")
    plain: dict[str, Any] = _plain(data)
    return plain


def _plain(value: Any) -> Any:
    """``value`` with what JSON has no word for (dates, NaN, keys that are no text) as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and abs(value) < float("inf"):
        return value
    return str(value)


def _errors(data: dict[str, Any]) -> Iterator[str]:
    for licence in _items(data.get("license")):
        if licence not in LICENSES:
            yield f'"license" must be one of [{", ".join(LICENSES)}]'
    for language in _items(data.get("language")):
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            yield f'"language" with value "{language}" is not valid: it must be an ISO 639 code'
    for key in ("tags", "datasets", "metrics", "base_model"):
        if not all(isinstance(item, str) for item in _items(data.get(key))):
            yield f'"{key}" must be a string or a list of strings'
    for key in ("library_name", "pipeline_tag", "license_name", "license_link", "new_version"):
        if not isinstance(data.get(key, ""), str):
            yield f'"{key}" must be a string'
    if "model-index" in data:
        yield from _model_index_errors(data["model-index"])


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _model_index_errors(index: Any) -> Iterator[str]:
    if not isinstance(index, list):
        yield '"model-index" must be an array'
        return
    for i, model in enumerate(index):
        place = f"model-index[{i}]"
        if not isinstance(model, dict) or not isinstance(model.get("name"), str):
            yield f'"{place}.name" is required'
        elif not isinstance(model.get("results"), list):
            yield f'"{place}.results" must be an array'
        else:
            for j, result in enumerate(model["results"]):
                yield from _result_errors(f"{place}.results[{j}]", result)


def _result_errors(place: str, result: Any) -> Iterator[str]:
    if not isinstance(result, dict):
        yield f'"{place}" must be an object'
        return
    for path in ("task.type", "dataset.name", "dataset.type"):
        outer, _, inner = path.partition(".")
        if not isinstance(result.get(outer), dict) or not isinstance(result[outer].get(inner), str):
            yield f'"{place}.{path}" is required'
    metrics = result.get("metrics")
    if not isinstance(metrics, list) or not metrics:
        yield f'"{place}.metrics" is required'
        return
    for k, metric in enumerate(metrics):
        if not isinstance(metric, dict) or not isinstance(metric.get("type"), str) or "value" not in metric:
            yield f'"{place}.metrics[{k}]" needs a type and a value'
