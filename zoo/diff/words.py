"""The words that the text and the Markdown of a diff share. They may hold text from outside: whoever prints
them makes it printable, or escapes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from zoo.credentials import without_shapes
from zoo.diff.decode import is_float
from zoo.diff.model import ABSENT, ConfigChange, Diff, FileFact, Form, Side, TensorChange
from zoo.diff.values import finite

_LONG = 160


def value(given: Any) -> str:
    """A JSON value on one line, or "absent"."""
    if given is ABSENT:
        return "absent"
    text = without_shapes(json.dumps(finite(given), ensure_ascii=True, separators=(", ", ": ")))
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def form(given: Form) -> str:
    return f"{given.dtype} {list(given.shape)}"


def file(given: FileFact | None) -> str:
    if given is None:
        return "absent"
    digest = f", sha256 {given.sha256[:12]}…" if given.sha256 else ""
    return f"{given.size:,} bytes{digest}"


def side(given: Side) -> str:
    """What was looked at, on one line."""
    words = [given.name + (f" (commit {given.revision})" if given.revision else "")]
    if given.tensors is not None:
        dtypes = ", ".join(sorted({each.dtype for each in given.tensors.values()})) or "no dtype"
        nbytes = sum(each.nbytes for each in given.tensors.values())
        words.append(f"{len(given.tensors):,} tensors, {dtypes}, {nbytes:,} bytes")
    return ": ".join(words)


def change_of(tensor: TensorChange) -> str:
    """How much a tensor changed."""
    if not tensor.compared:
        return "other bytes; the numbers of this dtype are not compared"
    if not tensor.changed:
        words = "the same values, stored otherwise"
    elif tensor.relative is not None:
        words = f"{tensor.relative:.3g}"
    elif is_float(tensor.dtype_a) and is_float(tensor.dtype_b):
        words = "no ratio: A is all zeros, or too large"
    else:
        words = "other values"
    return words + (f", {tensor.not_finite:,} NaN or Inf" if tensor.not_finite else "")


def spelling(change: ConfigChange) -> str:
    """Where a key stands on each side, if the places differ."""
    a, b = change.pointer_a, change.pointer_b
    if a is None and b is None:
        return ""
    return f"{a or 'implied'} -> {b or 'implied'}"


def by_reader(changes: Sequence[ConfigChange]) -> list[tuple[str, list[ConfigChange]]]:
    """The changes of a config in groups, what is served first."""
    titles = {
        True: "that engines read",
        None: "of which nobody has listed the readers",
        False: "that no engine reads",
    }
    groups = [
        (f"config keys {title}", [each for each in changes if each.read is read and not each.moved])
        for read, title in titles.items()
    ]
    groups.append(
        ("config keys with the same value at another place", [each for each in changes if each.moved])
    )
    return [(title, found) for title, found in groups if found]


def verdict(diff: Diff) -> str:
    """One line: whether they differ, and how far that is known."""
    count = diff.differences
    if count:
        word = f"different: {count:,} difference{'' if count == 1 else 's'} at {diff.level} level"
    elif diff.exit_status == 2:
        word = f"could not compare: no difference in what was compared at {diff.level} level"
    else:
        word = f"no difference at {diff.level} level"
    unread = len(diff.files.not_compared) if diff.files else 0
    if unread:
        word += f"; the content of {unread} file{'' if unread == 1 else 's'} of one size was not compared"
        word += " (zoo diff --deep reads it)" if diff.level == "header" else ""
    return word
