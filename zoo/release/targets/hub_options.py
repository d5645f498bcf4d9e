"""What a person can ask of a release to a hub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HubOptions:
    """``private``: refuse to publish where others can see it. ``gated``: "", "auto" or "manual".
    ``public_when_done``: let everybody see it, at the very end. ``propose``: a pull request instead of a
    version. ``limit``: seconds for which one request is tried again. ``note`` is told of every new try."""

    private: bool = False
    gated: str = ""
    public_when_done: bool = False
    propose: bool = False
    limit: float = 300.0
    note: Callable[[str], None] = print

    @property
    def any(self) -> bool:
        """Whether something was asked for that only a hub can do."""
        return bool(self.private or self.gated or self.public_when_done or self.propose)
