"""The JSON Schemas (2020-12) that ship with the tool, one file per document: ``NAME-VERSION.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def for_editors(root: Path) -> dict[str, str]:
    """Path -> text of the schemas that the first lines of recipes name, as far as the zoo at ``root`` lacks
    them. They lie in ``.zoo``, which is in no git, so that a clone does not have them."""
    files = {f".zoo/{path.name}": path for path in sorted(HERE.glob("*-1.json"))}
    return {
        name: path.read_text(encoding="utf-8") for name, path in files.items() if not (root / name).exists()
    }


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema called ``name``, e.g. ``recipe-1``."""
    document: dict[str, Any] = json.loads((HERE / f"{name}.json").read_bytes())
    return document


@cache
def validator(name: str) -> Any:
    """A validator for the schema called ``name``. Unlike Python's, its ``$`` does not match before a last
    line break: "1.0.0\\n" is no version."""
    return _strict()(schema(name))


@cache
def _strict() -> Any:
    """The class of :func:`validator`; to make it takes about a millisecond."""
    from jsonschema import Draft202012Validator, validators
    from jsonschema.exceptions import ValidationError

    def pattern(_: Any, wanted: str, instance: Any, __: Any) -> Iterator[Any]:
        exact = wanted.removesuffix("$") + r"\Z" if wanted.endswith("$") else wanted
        if isinstance(instance, str) and not re.search(exact, instance):
            yield ValidationError(f"{instance!r} does not match {wanted!r}")

    return validators.extend(Draft202012Validator, {"pattern": pattern})  # type: ignore[no-untyped-call]


def resolve(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """``node`` with a ``$ref`` into the same document (the only kind we use) followed."""
    while "$ref" in node:
        target = root
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node
