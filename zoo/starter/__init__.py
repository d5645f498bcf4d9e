"""The files that a new zoo begins with."""

from __future__ import annotations

from pathlib import Path


def starter(file: str) -> str:
    """The text of the starter file ``file``."""
    return (Path(__file__).parent / file).read_text(encoding="utf-8")
