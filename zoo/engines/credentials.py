"""Credentials by the name of what holds them, whatever they look like: flags and variables of a server.

The flags are those of the snapshots whose names say so: --api-key, --admin-api-key (SGLang),
--ssl-keyfile-password (SGLang), --hf-token (vLLM). A key has no shape: it is whatever a person made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FLAG = re.compile(r"^--?[\w-]*?(?:api[-_]?key|password|hf[-_]token)", re.IGNORECASE)
_VARIABLE = re.compile(
    r"(?:^|_)(?:API_?KEY|TOKEN|PASSWORD|SECRET|SECRET_KEY|SECRET_ACCESS_KEY)$", re.IGNORECASE
)
_SWITCHES = frozenset({"", "0", "1", "true", "false", "yes", "no"})  # HF_HUB_DISABLE_IMPLICIT_TOKEN=1


def is_secret_flag(names: Iterable[str]) -> bool:
    """Whether an option of these names takes a credential."""
    return any(_FLAG.match(name) for name in names)


def is_literal(value: str) -> bool:
    """Whether ``value`` is the credential itself, and not the name of a variable or nothing."""
    return bool(value) and not value.startswith("$")


def is_secret_variable(name: str, value: str) -> bool:
    """Whether the variable ``name`` holds a credential in ``value``."""
    return bool(_VARIABLE.search(name)) and is_literal(value) and value.lower() not in _SWITCHES
