"""A strict reader of YAML 1.2 that keeps the place of every key and value.

Recipes are untrusted input and are read by people who review them, so only the plain part of YAML is
allowed: no anchors, aliases, merge keys, tags or further documents, no duplicate keys, and limits on size
and depth. Everything that is refused is a finding with file, line and column. Scalars keep their source
text, so that an all-digit commit sha stays a string (``zoo.recipe.validate`` decides with the schema).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from zoo.printable import quoted
from zoo.results import Finding, Where

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_NODES = 10_000  # a long recipe has some 300 keys and values
MAX_DIGITS = 30
# The core schema of YAML 1.2, section 10.3.2, without octal and hexadecimal: no recipe needs them.
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NON_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("null", "Null", "NULL", "~", "")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Scalar(NamedTuple):
    """A leaf: its source text, and whether it was written plain (without quotes)."""

    text: str
    plain: bool
    where: Where

    @property
    def value(self) -> Any:
        """The value by the core schema: None, bool, int, float or str."""
        if not self.plain:
            return self.text
        if self.text in _WORDS:
            return _WORDS[self.text]
        if _INT.fullmatch(self.text):
            return int(self.text)
        return float(self.text) if _FLOAT.fullmatch(self.text) else self.text


class Sequence(NamedTuple):
    items: list[Node]
    where: Where


class Mapping(NamedTuple):
    """``entries`` by key, ``keys`` the place of each key."""

    entries: dict[str, Node]
    keys: dict[str, Where]
    where: Where


Node = Scalar | Sequence | Mapping


class Refused(Exception):
    """The text is not YAML, or uses a part of YAML that recipes do not use."""


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self._nodes = 0

    def place(self, event: Event) -> Where:
        return Where(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def refuse(self, code: str, where: Where, message: str, hint: str) -> None:
        self.findings.append(Finding(message, hint, where, code=code))

    def node(self, event: Event, events: Iterator[Event], depth: int) -> Node:
        where = self.place(event)
        if isinstance(event, AliasEvent):
            self.refuse("R002", where, f"alias *{event.anchor} is not allowed", "write the value out")
            return Scalar("", True, where)
        if not isinstance(event, (ScalarEvent, SequenceStartEvent, MappingStartEvent)):
            raise Refused
        if event.anchor:
            hint = "remove it and write the values out"
            self.refuse("R002", where, f"anchor &{event.anchor} is not allowed", hint)
        if event.tag:
            tag = quoted(str(event.tag))
            self.refuse("R002", where, f"tag {tag} is not allowed", "write the plain value")
        if depth > MAX_DEPTH:
            self.refuse("R003", where, f"nested more than {MAX_DEPTH} levels deep", "flatten the recipe")
            raise Refused
        self._nodes += 1
        if self._nodes > MAX_NODES:
            message = f"more than {MAX_NODES:,} keys and values"
            self.refuse("R003", where, message, "keep data out of the recipe")
            raise Refused
        if isinstance(event, MappingStartEvent):
            return self.mapping(where, events, depth)
        if isinstance(event, SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(item := next(events), SequenceEndEvent):
                items.append(self.node(item, events, depth + 1))
            return Sequence(items, where)
        assert isinstance(event, ScalarEvent)
        return self.scalar(event, where)

    def scalar(self, event: ScalarEvent, where: Where) -> Scalar:
        plain = event.style is None
        text = str(event.value)
        if plain and (_NON_FINITE.fullmatch(text) or (_FLOAT.fullmatch(text) and not _finite(text))):
            self.refuse(
                "R003",
                where,
                f"{quoted(text, 40)} is not a finite number",
                "write a finite number, or quote it",
            )
            return Scalar(text, False, where)
        if any("\ud800" <= char <= "\udfff" for char in text):
            self.refuse(
                "R003", where, "half of a surrogate pair, which is no character", "write the character"
            )
            return Scalar("", False, where)
        if plain and _INT.fullmatch(text) and len(text) > MAX_DIGITS:
            # Longer than any quantity here, but an all-digit sha is this long: it stays text.
            return Scalar(text, False, where)
        return Scalar(text, plain, where)

    def mapping(self, where: Where, events: Iterator[Event], depth: int) -> Mapping:
        entries: dict[str, Node] = {}
        keys: dict[str, Where] = {}
        while not isinstance(event := next(events), MappingEndEvent):
            place = self.place(event)
            key_node = self.node(event, events, depth + 1)
            value = self.node(next(events), events, depth + 1)
            if not isinstance(key_node, Scalar):
                self.refuse("R002", place, "a key that is not plain text", "use a plain word as the key")
                continue
            key = key_node.text
            if key == "<<" and key_node.plain:
                self.refuse(
                    "R002", place, "merge key << is not allowed", "use extends: NAME, or write the keys out"
                )
            elif key in entries:
                first = keys[key]
                self.findings.append(
                    Finding(
                        f"key {quoted(key)} is given twice",
                        "keep one of the two",
                        place,
                        (first,),
                        code="R004",
                    )
                )
            else:
                entries[key], keys[key] = value, place
        return Mapping(entries, keys, where)


# A release reads its recipe again before each decision, and many recipes share a target and profiles. The
# parser is pure Python: some 10 ms for the same text every time. Nobody changes a tree.
@lru_cache(maxsize=32)
def parse(text: bytes, file: str) -> tuple[Mapping | None, tuple[Finding, ...]]:
    """Parse one document that must be a mapping. The findings carry the codes R001 to R004."""
    reader = _Reader(file)
    if len(text) > MAX_BYTES:
        reader.refuse(
            "R003",
            Where(file),
            f"{len(text):,} bytes, more than {MAX_BYTES:,}",
            "keep data out of the recipe",
        )
        return None, tuple(reader.findings)
    try:
        events: Iterator[Event] = iter(YAML(typ="safe", pure=True).parse(text.decode("utf-8-sig")))
        root = _document(reader, events)
    except Refused:
        root = None
    except UnicodeDecodeError as error:
        reader.refuse("R001", Where(file), f"not UTF-8 at byte {error.start}", "save the file as UTF-8")
        root = None
    except (YAMLError, ReaderError) as error:
        reader.refuse("R001", *_explain(error, file), _advice(error))
        root = None
    except (ValueError, OverflowError) as error:  # an escape beyond Unicode, e.g. "\\UFFFFFFFF"
        message = f"not YAML: {quoted(str(error), 200)}"
        reader.refuse("R001", Where(file), message, "mend the escape sequence")
        root = None
    except RecursionError:
        reader.refuse("R003", Where(file), f"nested more than {MAX_DEPTH} levels deep", "flatten the recipe")
        root = None
    return root, tuple(reader.findings)


def _document(reader: _Reader, events: Iterator[Event]) -> Mapping | None:
    root: Node | None = None
    documents = 0
    for event in events:
        if isinstance(event, DocumentStartEvent):
            documents += 1
            if documents > 1:
                reader.refuse(
                    "R002", reader.place(event), "a second YAML document", "keep one document per file"
                )
                raise Refused
        elif (
            documents
            and root is None
            and isinstance(event, (ScalarEvent, SequenceStartEvent, MappingStartEvent, AliasEvent))
        ):
            root = reader.node(event, events, 0)
    if not isinstance(root, Mapping):
        reader.refuse(
            "R001",
            Where(reader.file, 1, 1),
            "the file holds no mapping",
            "begin with recipe: 1, or see zoo init",
        )
        return None
    return root


def _explain(error: YAMLError, file: str) -> tuple[Where, str]:
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        detail = ", ".join(part for part in (error.context, error.problem) if part)
        return Where(file, mark.line + 1, mark.column + 1), f"not YAML: {detail}"
    return Where(file), f"not YAML: {quoted(str(error).splitlines()[0], 200)}"


def _advice(error: YAMLError) -> str:
    """What to do at the place of ``error``, by the words of the parser."""
    problem = (error.problem or "") if isinstance(error, MarkedYAMLError) else ""
    if problem.startswith("mapping values are not allowed"):
        return 'quote the text if it holds ": ", or mend the indentation'
    if "'\\t'" in problem:
        return "indent with spaces, not with tabs"
    return "mend the YAML at this place"


def _finite(text: str) -> bool:
    return math.isfinite(float(text))
