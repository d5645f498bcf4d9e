"""The references of one repository: git's ``packed-refs``, one file that is replaced as a whole.

So a change of any number of references is one rename, and a reader sees all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zoo.hub.disk import Disk
from zoo.hub.errors import exists

BRANCH = "refs/heads/"
TAG = "refs/tags/"
PULL = "refs/pr/"
_HEADER = "# pack-refs with: peeled fully-peeled sorted"


@dataclass(frozen=True, slots=True)
class Ref:
    """``commit`` is what it leads to; ``tag`` the annotated tag on the way, or empty."""

    commit: str
    tag: str = ""


def read_refs(folder: Path) -> dict[str, Ref]:
    """Full name (``refs/heads/main``) -> where it leads."""
    refs: dict[str, Ref] = {}
    last = ""
    for line in (folder / "packed-refs").read_text(encoding="ascii").splitlines():
        if line.startswith("^"):  # the commit of the annotated tag in the line before
            refs[last] = Ref(line[1:], refs[last].commit)
        elif not line.startswith("#"):
            oid, _, last = line.partition(" ")
            refs[last] = Ref(oid)
    return refs


def write_refs(folder: Path, refs: Mapping[str, Ref], disk: Disk) -> None:
    lines = [_HEADER]
    for name, ref in sorted(refs.items()):
        lines += [f"{ref.tag} {name}", f"^{ref.commit}"] if ref.tag else [f"{ref.commit} {name}"]
    disk.write(folder / "packed-refs", "".join(f"{line}\n" for line in lines).encode("ascii"))


def refuse_taken(refs: Mapping[str, Ref], full_name: str) -> None:
    """Raises HubError 409 if a branch or tag has this name already (a revision must mean one commit), or one
    of which it would be the folder."""
    short = full_name.split("/", 2)[2]
    for other, what in ((BRANCH + short, "Branch"), (TAG + short, "Tag")):
        if other in refs:
            raise exists(f"{what} {short} already exists")
    for name in refs:
        if name.startswith(full_name + "/") or full_name.startswith(name + "/"):
            raise exists(f"{short} conflicts with {name}, as a file does with a folder")
