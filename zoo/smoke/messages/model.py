"""One message that is known, as a frozen value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from packaging.specifiers import SpecifierSet

# The end of an advice that leaves the rest to the static checks.
VERIFY = "run zoo verify NAME, which compares config, header and target"


@dataclass(frozen=True)
class Known:
    """A message that is known.

    ``blame`` is what must change: the draft or the command (a finding about what is released), the machine,
    or the engine (no verdict about the draft). ``ends_server``: the server cannot go on after it; else it
    serves on, and ``severity`` says whether a draft may be released that way. ``engine`` and ``versions``
    bound where the message means this, "" for everywhere.
    """

    name: str
    pattern: str
    cause: str
    advice: str
    source: str
    blame: Literal["draft", "command", "machine", "engine"]
    ends_server: bool = True
    severity: Literal["fail", "warn"] = "fail"
    engine: str = ""
    versions: str = ""

    @cached_property
    def regex(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def applies(self, engine: str | None, version: str | None) -> bool:
        if engine is not None and self.engine not in ("", engine):
            return False
        return (
            version is None
            or not self.versions
            or SpecifierSet(self.versions).contains(version, prereleases=True)
        )
