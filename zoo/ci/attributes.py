"""What git makes of files when it checks them out (V020): a checkout is judged, and a commit is merged."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from zoo.ci.git import Repository
from zoo.printable import printable, quoted
from zoo.results import Finding, Where

# gitattributes(5): the attributes by which the bytes of a checkout are others than those of the commit, and
# what is no matter. Filters are off (zoo.ci.git): no pull request can define one.
_OTHER = {
    "ident": ("unspecified", "unset", "false"),
    "working-tree-encoding": ("unspecified", "unset", "set", "UTF-8", "utf-8"),
    "eol": ("unspecified", "unset", "set", "lf"),
}
_SHOWN = 10


def rewritten(repository: Repository, paths: Iterable[str]) -> Iterator[Finding]:
    """V020: the files of ``paths`` that a checkout has otherwise than the commit."""
    found = [
        (path, attribute, value)
        for path, attribute, value in _attributes(repository, sorted(paths))
        if value not in _OTHER[attribute]
    ]
    hint = "take the attribute away: what is judged must be what is merged"
    for path, attribute, value in found[:_SHOWN]:
        said = printable(f"{attribute}={value}", keep="", limit=80)
        message = f".gitattributes ({said}) rewrites {quoted(path)}"
        yield Finding(message, hint, Where(path), code="V020")
    if len(found) > _SHOWN:
        yield Finding(f".gitattributes rewrites {len(found) - _SHOWN:,} more", hint, code="V020")


def _attributes(repository: Repository, paths: list[str]) -> Iterator[tuple[str, str, str]]:
    """File, attribute and value, of each file and attribute."""
    if not paths:
        return
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    fields = repository.ask(given, "check-attr", "-z", "--stdin", *_OTHER).split(b"\0")
    for path, attribute, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        yield os.fsdecode(path), attribute.decode(), value.decode(errors="replace")
