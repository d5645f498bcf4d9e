"""The flags of an engine version: what its ``--help`` would list, as data that ships with zoo.

``snapshots/ENGINE-VERSION.json`` are written by ``zoo engines snapshot`` (:mod:`zoo.engines.extract`) from a
released wheel, without importing it. Help texts are left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from zoo.errors import UnreadableError

SCHEMA = "engine-flags/1"
_FOLDER = Path(__file__).parent / "snapshots"

Scalar = str | int | float | bool | None


class Option(NamedTuple):
    """One argument of an engine, as argparse holds it.

    Attributes:
        names: every spelling, e.g. ``("--tensor-parallel-size", "--tp-size")``; of a positional its one name
            without dashes. The names of a toggle include the ``--no-`` spellings.
        dest: the attribute that it sets.
        kind: ``value`` (takes ``nargs`` values), ``append`` (each use adds its values), ``flag`` (takes none,
            sets ``const``), ``toggle`` (takes none; True, or False for a name of ``negative``) or ``help``.
        type: the converter's name, as :func:`zoo.engines.converters.converter` knows it; None for flags.
        choices: the values allowed, after conversion; None where any is.
        default: the value without the flag: a JSON value; ``...`` (a str) where it is computed at start.
        nargs: None (exactly one), ``?``, ``*``, ``+`` or a number of values.
        const: what a flag stores, and ``?`` without a value.
        deprecated: None, or what the engine advises instead ("" where it advises nothing).
        required: whether the engine refuses to start without it.
        negative: the names of a toggle that say False.
        known: the values that the engine itself looks up after parsing; a plugin may add others. None where
            it looks up none, or where ``choices`` says it.
    """

    names: tuple[str, ...]
    dest: str
    kind: str = "value"
    type: str | None = None
    choices: tuple[Scalar, ...] | None = None
    default: Any = None
    nargs: str | int | None = None
    const: Scalar = None
    deprecated: str | None = None
    required: bool = False
    negative: tuple[str, ...] = ()
    known: tuple[str, ...] | None = None

    @property
    def positional(self) -> bool:
        return not self.names[0].startswith("-")

    @property
    def takes_value(self) -> bool:
        return self.kind in ("value", "append")

    def as_json(self) -> dict[str, Any]:
        """The attributes that differ from their defaults, in the order above."""
        document: dict[str, Any] = {}
        for name, value in self._asdict().items():
            default = self._field_defaults.get(name, ...)
            if value != default or type(value) is not type(default):
                document[name] = list(value) if isinstance(value, tuple) else value
        return document


HELP = Option(names=("-h", "--help"), dest="help", kind="help")


@dataclass(frozen=True)
class Snapshot:
    """All arguments of ``engine`` ``version``; ``generator`` says which generator wrote them.

    ``-h`` and ``--help`` are not among ``options``; :meth:`exact` and :meth:`candidates` know them.
    """

    engine: str
    version: str
    generator: str
    options: tuple[Option, ...]
    source: str = ""

    @cached_property
    def by_name(self) -> dict[str, Option]:
        """Every option string with its option, in the order in which the engine adds them."""
        named = dict.fromkeys(HELP.names, HELP)
        named |= {name: each for each in self.options if not each.positional for name in each.names}
        return named

    @property
    def positionals(self) -> tuple[Option, ...]:
        return tuple(each for each in self.options if each.positional)

    @property
    def title(self) -> str:
        """For people: ``SGLang 0.5.14``."""
        return f"{ {'sglang': 'SGLang', 'vllm': 'vLLM'}.get(self.engine, self.engine) } {self.version}"

    def exact(self, name: str) -> Option | None:
        """The option that is spelled exactly ``name``."""
        return self.by_name.get(name)

    def candidates(self, prefix: str) -> tuple[tuple[str, Option], ...]:
        """The names that ``prefix`` may abbreviate, as argparse's allow_abbrev sees it: ``--`` names only.

        Two names of one option count as two: argparse calls that ambiguous.
        """
        if not prefix.startswith("--"):
            return ()
        return tuple((name, each) for name, each in self.by_name.items() if name.startswith(prefix))

    def by_dest(self, dest: str) -> Option | None:
        """The first option that sets ``dest`` and is not deprecated, else the first that sets it."""
        found = [each for each in self.options if each.dest == dest]
        return next((each for each in found if each.deprecated is None), found[0] if found else None)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "engine": self.engine,
            "version": self.version,
            "generator": self.generator,
            "source": self.source,
            "options": [each.as_json() for each in self.options],
        }


def from_json(document: dict[str, Any], place: str) -> Snapshot:
    """The snapshot that :meth:`Snapshot.as_json` wrote; ``place`` names the file in errors.

    Raises:
        UnreadableError: it is not of this schema, or names an attribute that options do not have.
    """
    hint = "write it again: zoo engines snapshot ENGINE WHEEL --out FILE"
    if document.get("schema") != SCHEMA:
        raise UnreadableError(f"{place}: schema is not {SCHEMA}", hint=hint)
    try:
        options = tuple(_option(each) for each in document["options"])
        head = {key: document[key] for key in ("engine", "version", "generator", "source")}
    except (KeyError, TypeError) as error:
        raise UnreadableError(f"{place}: not a snapshot of flags ({error})", hint=hint) from error
    return Snapshot(options=options, **head)


def snapshot(engine: str, version: str | Version) -> Snapshot | None:
    """The flags of this version; None where no snapshot of it ships. ``0.5.14`` equals ``0.5.14.0``."""
    try:
        wanted = Version(str(version))
    except InvalidVersion:
        return None
    for name, known in snapshots():
        if name == engine and Version(known) == wanted:
            return _load(_FOLDER / f"{name}-{known}.json")
    return None


@cache
def snapshots() -> tuple[tuple[str, str], ...]:
    """The (engine, version) pairs that ship, ordered by engine and version."""
    stems = [path.stem.partition("-") for path in _FOLDER.glob("*.json")]
    found = [(engine, version) for engine, _, version in stems]
    return tuple(sorted(found, key=lambda pair: (pair[0], Version(pair[1]))))


@cache
def _load(path: Path) -> Snapshot:
    return from_json(json.loads(path.read_text(encoding="utf-8")), path.name)


def _option(document: dict[str, Any]) -> Option:
    arguments = dict(document)
    for key in ("names", "choices", "negative", "known"):
        if key in arguments:
            arguments[key] = tuple(arguments[key])
    return Option(**arguments)


def as_text(held: Snapshot) -> str:
    """The file of a snapshot: JSON with one option a line, so that two versions can be compared."""
    document = held.as_json()
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in document.pop("options"))
    head = json.dumps(document, ensure_ascii=False)
    return f'{head[:-1]}, "options": [\n{lines}\n]}}\n'
