"""What became of the versions in a directory target: ``PATH/NAME/.standing.json`` says which are withdrawn
and where aliases point, and ``PATH/index.json`` repeats it for readers. The versions themselves never change.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.atomic import write_atomically
from zoo.checkpoint.jsonfile import MalformedJson, decode
from zoo.errors import TargetUnusableError
from zoo.printable import quoted
from zoo.release.paths import read_small

_SCHEMA = "zoo-standing/1"
NAME = ".standing.json"


@dataclass(frozen=True, slots=True)
class Standing:
    """``yanked``: version -> reason. ``aliases``: alias -> version."""

    yanked: dict[str, str]
    aliases: dict[str, str]


def read_standing(folder: Path) -> Standing:
    """The standing of the versions in ``folder``, which is ``PATH/NAME``.

    Raises:
        TargetUnusableError: there is a file, and it is not what this module writes.
    """
    file = folder / NAME
    try:
        data = decode(read_small(file))
    except FileNotFoundError:
        return Standing({}, {})
    except (OSError, MalformedJson):
        data = None
    if isinstance(data, dict) and data.get("schema") == _SCHEMA:
        maps = [data.get("yanked"), data.get("aliases")]
        if all(isinstance(each, dict) and all(isinstance(v, str) for v in each.values()) for each in maps):
            return Standing(dict(data["yanked"]), dict(data["aliases"]))
    raise TargetUnusableError(
        f"{quoted(str(file))} does not say what is withdrawn there: it cannot be read, or is damaged",
        hint="move it away; then yank and promote again what zoo history says",
    )


def change_standing(folder: Path, change: Callable[[Standing], Standing]) -> bool:
    """Write the standing anew if ``change`` makes another one of it. Returns whether it did. The caller holds
    the lock of the directory."""
    old = read_standing(folder)
    new = change(replace(old, yanked=dict(old.yanked), aliases=dict(old.aliases)))
    if new == old:
        return False
    document = {"schema": _SCHEMA, "yanked": new.yanked, "aliases": new.aliases}
    write_atomically(folder / NAME, json.dumps(document, indent=2, sort_keys=True).encode() + b"\n")
    return True
