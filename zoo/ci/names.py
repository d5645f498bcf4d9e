"""Names and kinds of the files that a change adds (V013, V014)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo.ci.model import ChangedFile, Kind
from zoo.printable import printable, quoted
from zoo.results import Finding, Where

# Of learn.microsoft.com/windows/win32/fileio/naming-a-file, whatever follows after a dot.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_REFUSED = re.compile(r'[<>:"\\|?*]')


def links(root: Path, files: Iterable[ChangedFile]) -> Iterator[Finding]:
    """V013: what is no regular file, or lies behind a link."""
    for file in files:
        if file.kind is Kind.REMOVED:
            continue
        parts = [root / part for part in _above(file.path)]
        wrong = next((part for part in parts if part.is_symlink()), None)
        if wrong is None and not parts[-1].is_file():
            wrong = parts[-1]
        if wrong is not None:
            shown = wrong.relative_to(root).as_posix()
            what = "a link" if wrong.is_symlink() else "no regular file"
            message = f"{quoted(shown)} is {what}"
            yield Finding(message, "put the file itself there", Where(file.path), code="V013")


def hostile(files: Iterable[ChangedFile], paths: Iterable[str]) -> Iterator[Finding]:
    """V014: names of added files that not every system can keep or show. ``paths``: all files that are there
    after the change."""
    there: dict[str, set[str]] = {}
    for path in paths:
        for part in _above(path):
            there.setdefault(_folded(part), set()).add(part)
    for file in files:
        if file.kind is Kind.ADDED and (problem := _problem(file.path, there)):
            hint = "rename it, using letters, digits, dot, dash and underscore"
            yield Finding(f"{quoted(file.path)}: {problem}", hint, Where(file.path), code="V014")


def _problem(path: str, there: dict[str, set[str]]) -> str:
    for part in _above(path):
        others = there[_folded(part)] - {part}
        if others:
            return f"the name differs from {quoted(min(others))} only in case or Unicode form"
    for name in path.split("/"):
        if printable(name, keep="") != name:
            return "the name holds characters that do not print"
        if _RESERVED.fullmatch(name) or _REFUSED.search(name) or name.endswith((".", " ")):
            return "Windows cannot keep a file of this name"
    return ""


def _above(path: str) -> list[str]:
    """The folders above ``path``, from the outermost on, and itself."""
    parts = path.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _folded(path: str) -> str:
    """As file systems of macOS and Windows compare names."""
    return unicodedata.normalize("NFC", path).casefold()
