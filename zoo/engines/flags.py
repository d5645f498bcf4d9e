"""Reading a launch command: the value of a flag in an argv, as argparse would take it."""

from __future__ import annotations

from collections.abc import Sequence


def flag_value(argv: Sequence[str], *names: str) -> str | None:
    """The value of a flag that is spelled as one of ``names``: ``--flag value`` or ``--flag=value``.

    None if the flag is absent, "" if it stands without a value. As in argparse the last one wins.
    Abbreviations (``--quant`` for ``--quantization``) are not resolved: that needs all flags of the engine.
    """
    found: str | None = None
    for index, token in enumerate(argv):
        name, equals, value = token.partition("=")
        if name not in names:
            continue
        following = argv[index + 1] if index + 1 < len(argv) else "--"
        found = value if equals else "" if following.startswith("--") else following
    return found


def has_flag(argv: Sequence[str], *names: str) -> bool:
    """Whether the flag is there at all, with or without a value."""
    return flag_value(argv, *names) is not None
