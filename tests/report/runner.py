"""What a runner of GitHub Actions takes for a command in the log of a job.

Two forms, as ``src/Runner.Common/ActionCommand.cs`` of actions/runner has them: ``::NAME k=v,k=v::DATA``
where a line begins, after white space, and the older ``##[NAME k=v;k=v]DATA`` anywhere in a line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NAMES = {
    *("set-output", "set-env", "add-path", "save-state", "add-mask", "add-matcher", "remove-matcher", "echo"),
    *("stop-commands", "group", "endgroup", "debug", "error", "warning", "notice"),
}
_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_PROPERTY = (*_DATA[:2], ("%3A", ":"), ("%2C", ","), _DATA[2])


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    data: str


def commands(log: str) -> list[Command]:
    """All commands of a log. Lines end as .NET's ReadLine ends them."""
    found = [_command(line) for line in re.split(r"\r\n|\r|\n", log)]
    return [command for command in found if command is not None]


def _command(line: str) -> Command | None:
    new = re.match(r"\s*::(?P<info>.*?)::(?P<data>.*)", line, re.DOTALL)
    if new is not None and (name := new["info"].partition(" ")[0]) in NAMES:
        pairs = new["info"].partition(" ")[2].split(",")
        split = [pair.split("=", 1) for pair in pairs if "=" in pair]
        properties = {key.strip(): _undone(value, _PROPERTY) for key, value in split}
        return Command(name, properties, _undone(new["data"], _DATA))
    old = re.search(r"##\[(?P<info>[^\]]*)\](?P<data>.*)", line, re.DOTALL)
    if old is not None and (name := old["info"].partition(" ")[0]) in NAMES:
        return Command(name, {}, old["data"])
    return None


def _undone(text: str, table: tuple[tuple[str, str], ...]) -> str:
    for escape, char in table:
        text = text.replace(escape, char)
    return text
