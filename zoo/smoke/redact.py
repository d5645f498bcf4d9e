"""What a server printed, fit to be published: no absolute paths, no tokens, nothing that a terminal obeys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from zoo.printable import printable

# An absolute path, but no part of "a/b", of a date or of an address.
_PATH = re.compile(r"(?<![\w:/.}-])(?:~|[A-Za-z]:)?[/\\][\w.@+-]+(?:[/\\][\w.@+{}-]*)*")
# As the issuers document them (zoo.release.credentials), shorter and with what follows a word for a secret.
_SECRET = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{10,}|sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|(?:AKIA|ASIA)[A-Z0-9]{16})"
    r"|(?i:(?<=bearer )[\w.~+/-]{8,}=*)"
    r"|(?i:(?<=api[_-]key[=:\s])['\"]?[\w.~+/-]{4,})"
)


def redacted(text: str, places: Mapping[str, str] | None = None, limit: int = 2000) -> str:
    """``text`` without secrets and paths. ``places`` maps a path that may be named to its word, as
    ``{"/models/kimi": "{target}"}``."""
    for path, word in sorted((places or {}).items(), key=lambda each: -len(each[0])):
        text = text.replace(path, word)
    text = _SECRET.sub("[secret]", text)
    return printable(_PATH.sub("[path]", text), keep="", limit=limit)


def redacted_values(values: Mapping[str, Any], places: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Measured values with every text redacted."""
    return {
        key: redacted(value, places) if isinstance(value, str) else value for key, value in values.items()
    }
