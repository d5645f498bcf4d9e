"""What engines log when something is wrong: message -> cause -> advice.

A message is one line of the log, and a pattern is case-sensitive and spells enough of the message that no
other one matches: healthy logs of SGLang contain "falling back to standard implementation" and "Ignore import
error when loading" (another model), so the words "falling back" and "error" mean nothing.

The order matters: of several messages the first of the table is the cause, and what wraps another error
("Received sigquit from a child process") stands last. The texts were read in SGLang 0.5.14 and 0.5.23, vLLM
0.33.0, PyTorch 2.11 and CPython 3.12, or seen in the logs of real servers ("seen").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from zoo.smoke.messages import KNOWN
from zoo.smoke.messages.model import Known

__all__ = ["KNOWN", "Found", "Known", "diagnose"]

# A line that is longer than this is data, not a message (a dump of arguments has some 20,000 characters).
_LONGEST = 100_000
# What a server that is asked logs all the time: most of a log, and never a message of the table.
_ROUTINE = re.compile(
    r"^.{0,100}?(\] (Decode|Prefill) batch|\bINFO: +[\d.]+:\d+ - \"|Avg prompt throughput: )"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A known message and the first line that is one; ``count`` lines are."""

    known: Known
    line: str
    count: int


def diagnose(text: str, engine: str | None = None, version: str | None = None) -> tuple[Found, ...]:
    """The known messages in the text of a log, in the order of the table: the likeliest cause first."""
    known = [each for each in KNOWN if each.applies(engine, version)]
    any_of = re.compile("|".join(f"(?:{each.pattern})" for each in known))
    lines: dict[str, list[str]] = {}
    # A progress bar rewrites its line with a carriage return.
    for line in re.split(r"[\r\n]+", text):
        if len(line) <= _LONGEST and not _ROUTINE.match(line) and any_of.search(line):
            for each in known:
                if each.regex.search(line):
                    lines.setdefault(each.name, []).append(line)
    return tuple(
        Found(each, lines[each.name][0], len(lines[each.name])) for each in known if each.name in lines
    )
