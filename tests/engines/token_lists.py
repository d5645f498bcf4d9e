"""Random token lists near what people write: right, abbreviated, ambiguous, misspelt, incomplete."""

from __future__ import annotations

import random

from zoo.engines.options import Option, Snapshot

_ODD = [
    "-1",
    "-0.5",
    "-",
    "",
    "--",
    "x y",
    "-x",
    "-h",
    "--he",
    "--=",
    "-tp",
    "none",
    "None",
    "nan",
    "4k",
    "1_0",
]
_VALUES = {
    "int": ["8", "-1", "0", "x", "1.5", " 7"],
    "float": ["0.85", "1", "x", "-0.1"],
    "json": ['{"a": 1}', "{", "[1]"],
}


def value(option: Option, rng: random.Random) -> str:
    """A value for ``option``, mostly one that it takes."""
    if option.choices and rng.random() < 0.8:
        return str(rng.choice(option.choices))
    # Not "--": before Python 3.13 argparse drops it where it is the value in --flag=--, later it does not.
    odd = [each for each in _ODD if each != "--"]
    return rng.choice(_VALUES.get(option.type or "", ["text", "a=b", "8", *odd]))


def tokens(snapshot: Snapshot, rng: random.Random) -> list[str]:
    """Up to a dozen tokens; half of the lists begin with the required options."""
    found: list[str] = []
    if rng.random() < 0.7:
        for each in snapshot.options:
            if each.required:
                found += [each.names[0], "m"]
    for _ in range(rng.randrange(5)):
        found += _one(snapshot, rng)
    return found


def _one(snapshot: Snapshot, rng: random.Random) -> list[str]:
    if rng.random() < 0.05:
        return [rng.choice(_ODD)]
    option = rng.choice([each for each in snapshot.options if not each.positional])
    name = rng.choice(option.names)
    if rng.random() < 0.25:
        name = name[: rng.randrange(2, len(name) + 1)]
    if rng.random() < 0.03:
        name += rng.choice("xs-_")
    if not option.takes_value:
        return [f"{name}=1"] if rng.random() < 0.05 else [name]
    many = option.nargs in ("+", "*")
    count = rng.randrange(4) if many else rng.choice([0, 1, 1, 1, 1, 1, 1, 1, 1, 2])
    if rng.random() < 0.15:
        return [f"{name}={value(option, rng)}"]
    return [name, *(value(option, rng) for _ in range(count))]
