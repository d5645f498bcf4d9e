"""docs/recipes.md explains every key of the three formats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import REPOSITORY
from zoo.schemas import schema

PAGE = (REPOSITORY / "docs" / "recipes.md").read_text()


def top_level(document: dict[str, Any]) -> Iterator[str]:
    """The keys of a format, and those of its maps one level down."""
    for key, sub in document["properties"].items():
        yield key
        yield from sub.get("properties", {})


FORMATS = ["recipe-1", "target-1", "profile-1", "training-manifest-1", "data-manifest-1"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_key_is_on_the_page(name: str) -> None:
    words = set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`[^`]+`", PAGE))))
    assert set(top_level(schema(name))) - {"schema"} <= words
