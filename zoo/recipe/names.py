"""What can be the name of a recipe, a target file or a profile: names become folders, tags and addresses."""

from __future__ import annotations

import re

from zoo.schemas import schema


def is_name(word: str) -> bool:
    """Whether ``word`` is well formed by the schema of recipes."""
    rule = schema("recipe-1")["$defs"]["name"]
    return bool(re.fullmatch(rule["pattern"], word)) and not re.search(rule["not"]["pattern"], word)
