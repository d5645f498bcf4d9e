"""The words that several forms of a result share. They may hold text from outside: whoever prints them makes
it printable, or escapes it."""

from __future__ import annotations

from zoo.ci.model import CiResult

_NAMES = 3  # files that a headline names


def number(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def further(result: CiResult) -> str:
    """How far the base has gone since the change left it; "" if it has not."""
    return f"{number(result.base_ahead, 'commit')} further" if result.base_ahead else ""


def not_in_git(result: CiResult) -> tuple[str, list[str], str]:
    """What a clone would lack: the words before the files, the files to name, and the words after them."""
    count = len(result.untracked)
    were, are = ("was", "is") if count == 1 else ("were", "are")
    head = f"{number(count, 'file')} that {were} read {are} not in git"
    more = f" and {count - _NAMES:,} more" if count > _NAMES else ""
    return head, list(result.untracked[:_NAMES]), f"{more} -> git add (-f where .gitignore names it)"
