"""The files that a change adds, whatever is in them: names and kinds (V013, V014), credentials (V015)."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo import credentials
from zoo.checkpoint.content import open_regular, read_up_to
from zoo.ci.model import ChangedFile, Kind
from zoo.printable import printable, quoted
from zoo.results import Finding, Where

# Of learn.microsoft.com/windows/win32/fileio/naming-a-file, whatever follows after a dot.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
# Texts are smaller; of weights, this is where the header is.
_TEXT = 4 * 1024 * 1024
# Of folders in folders; a zoo has five. Each file is looked at with all folders above it.
DEPTH = 32
_REFUSED = re.compile(r'[<>:"\\|?*]')


def secrets(root: Path, files: Iterable[ChangedFile]) -> Iterator[Finding]:
    """V015: files that hold a credential, which is not shown."""
    for file in files:
        if file.kind is Kind.REMOVED:
            continue
        found = credentials.first(os.fsencode(file.path)) or _secret_in(root / file.path)
        if found is not None:
            hint = "remove it, and revoke it: whoever can read the pull request may have copied it"
            yield Finding(f"the file holds {found.kind}", hint, Where(file.path, found.line), code="V015")


def _secret_in(path: Path) -> credentials.Found | None:
    if path.is_symlink():
        return None
    try:
        with open_regular(path) as file:
            return credentials.first(read_up_to(file, _TEXT))
    except OSError:  # V013 says so, or whoever reads it
        return None


def links(root: Path, files: Iterable[ChangedFile]) -> Iterator[Finding]:
    """V013: what is no regular file, or lies behind a link."""
    for file in files:
        if file.kind is Kind.REMOVED or file.path.count("/") >= DEPTH:
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
        for part in _above(path) if path.count("/") < DEPTH else ():
            there.setdefault(folded(part), set()).add(part)
    for file in files:
        if file.kind is Kind.ADDED and (problem := _problem(file.path, there)):
            hint = "rename it, using letters, digits, dot, dash and underscore"
            yield Finding(f"{quoted(file.path)}: {problem}", hint, Where(file.path), code="V014")


def _problem(path: str, there: dict[str, set[str]]) -> str:
    if path.count("/") >= DEPTH:
        return f"more than {DEPTH} folders deep"
    for part in _above(path):
        others = there[folded(part)] - {part}
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


def folded(path: str) -> str:
    """As file systems of macOS and Windows compare names."""
    return unicodedata.normalize("NFC", path).casefold()
