"""The JSON Schemas (2020-12) that ship with the tool, one file per document: ``NAME-VERSION.json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema called ``name``, e.g. ``recipe-1``."""
    document: dict[str, Any] = json.loads((HERE / f"{name}.json").read_bytes())
    return document


def resolve(node: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """``node`` with a ``$ref`` into the same document (the only kind we use) followed."""
    while "$ref" in node:
        target = root
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node
