"""A YAML tree against its JSON Schema: all errors at once, each with its place, its code and a next action.

The schema also decides what a plain scalar is: where it asks for a string, the source text is kept, so that
``version: 1.0`` and an all-digit commit sha are strings, and everywhere else the core schema of YAML 1.2
applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema.exceptions import ValidationError

from zoo.printable import quoted
from zoo.recipe import yamltree
from zoo.results import Finding, Where
from zoo.schemas import resolve, validator

Marks = Mapping[str, Where]


def plain(node: yamltree.Node, root: dict[str, Any]) -> tuple[Any, dict[str, Where]]:
    """The tree as plain data, and the place of every JSON pointer in it (of the key, where there is one)."""
    marks: dict[str, Where] = {"": node.where}
    return _plain(node, root, root, "", marks), marks


def validate(data: Any, marks: Marks, name: str) -> list[Finding]:
    """All contradictions between ``data`` and the schema called ``name``, in the order of the file."""
    errors = validator(name).iter_errors(data)
    found = [finding for error in errors for finding in _explain(error, marks)]
    # A name can break a pattern and a "not" at once, and a misspelt key is also a missing one: say it once.
    once = {(finding.code, finding.where, finding.message): finding for finding in found}.values()
    meant = {finding.hint for finding in once if finding.code == "R005"}
    told = [f for f in once if f.code != "R006" or f'Did you mean "{_key_of(f)}"?' not in meant]
    return sorted(told, key=lambda f: (f.where.line or 0, f.where.column or 0, f.message))


def pointer(path: Iterator[Any] | Any) -> str:
    """A JSON pointer (RFC 6901) from the parts of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def at(marks: Marks, wanted: str) -> Where:
    """The place of ``wanted``, or of the closest enclosing value that the file has."""
    while wanted not in marks and wanted:
        wanted = wanted.rpartition("/")[0]
    place = marks.get(wanted, Where())
    return Where(place.file, place.line, place.column, wanted or None)


def did_you_mean(word: str, known: Any) -> str:
    """`` Did you mean "x"?`` with the closest of ``known``, or nothing."""
    import difflib  # only when something is misspelt

    close = difflib.get_close_matches(word, [str(item) for item in known], n=1, cutoff=0.6)
    return f' Did you mean "{close[0]}"?' if close else ""


def _plain(
    node: yamltree.Node, sub: dict[str, Any], root: dict[str, Any], where: str, marks: dict[str, Where]
) -> Any:
    sub = resolve(sub, root)
    if isinstance(node, yamltree.Scalar):
        return node.text if node.plain and _wants_text(sub, root) else node.value
    sub = _container(sub, root)
    if isinstance(node, yamltree.Sequence):
        for index, item in enumerate(node.items):
            marks[f"{where}/{index}"] = item.where
        items = sub.get("items", {})
        return [_plain(item, items, root, f"{where}/{i}", marks) for i, item in enumerate(node.items)]
    data: dict[str, Any] = {}
    extra = sub.get("additionalProperties")
    for key, item in node.entries.items():
        here = where + pointer([key])
        marks[here] = node.keys[key]
        child = sub.get("properties", {}).get(key) or (extra if isinstance(extra, dict) else {})
        data[key] = _plain(item, child, root, here, marks)
    return data


def _wants_text(sub: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether the schema takes only strings here."""
    if "type" in sub:
        return bool(sub["type"] == "string")
    if "enum" in sub:
        return all(isinstance(value, str) for value in sub["enum"])
    if "const" in sub:
        return isinstance(sub["const"], str)
    branches = [resolve(branch, root) for branch in sub.get("anyOf", ())]
    scalars = [branch for branch in branches if branch.get("type") not in ("object", "array")]
    return bool(scalars) and all(_wants_text(branch, root) for branch in scalars)


def _container(sub: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The branch of an ``anyOf`` that describes an object or array, or ``sub`` itself."""
    for branch in sub.get("anyOf", ()):
        branch = resolve(branch, root)
        if branch.get("type") in ("object", "array"):
            return branch
    return sub


def _sub(error: ValidationError) -> dict[str, Any]:
    """The part of the schema that the error is about (for the type stubs, a schema may be ``true``)."""
    return error.schema if isinstance(error.schema, dict) else {}


def _explain(error: ValidationError, marks: Marks) -> Iterator[Finding]:
    where = at(marks, pointer(error.absolute_path))
    name = _name_of(error)
    if error.validator == "anyOf":
        yield from _explain_branches(error, marks)
    elif error.validator == "additionalProperties":
        known = _sub(error).get("properties", {})
        for key in _keys(error.instance):
            if key not in known:
                place = at(marks, pointer([*error.absolute_path, key]))
                hint = did_you_mean(key, known).strip() or f"remove it; known here: {', '.join(known)}"
                yield Finding(f"unknown key {quoted(key)}", hint, place, code="R005")
    elif error.validator == "required":
        for key in _keys(error.validator_value):
            if key not in _keys(error.instance):
                yield Finding(f"key {quoted(key)} is missing", f"add {key}: ... here", where, code="R006")
    elif error.validator == "propertyNames" or "propertyNames" in error.absolute_schema_path:
        place = at(marks, pointer([*error.absolute_path, error.instance]))
        yield Finding(
            f"{quoted(str(error.instance))} cannot be a key here",
            _expected(_sub(error), error),
            place,
            code="R008",
        )
    else:
        code = "R008" if error.validator in ("pattern", "not", "maxLength") else "R007"
        shown = quoted(_short(error.instance))
        choices = _sub(error).get("enum", ())
        hint = _expected(_sub(error), error) + _sentence(did_you_mean(str(error.instance), choices))
        yield Finding(f"{name} is {shown}", hint, where, code=code)


def _explain_branches(error: ValidationError, marks: Marks) -> Iterator[Finding]:
    """Of the branches of an ``anyOf``, explain the one that was meant: the one that got furthest."""
    deep = [child for child in error.context or () if len(child.absolute_path) > len(error.absolute_path)]
    container = [
        child for child in error.context or () if child.validator in ("additionalProperties", "required")
    ]
    if deep or container:
        for child in deep or container:
            yield from _explain(child, marks)
        return
    expected = " or ".join(
        dict.fromkeys(
            _expected(_sub(child), child).removeprefix("expected ") for child in error.context or ()
        )
    )
    choices = [choice for child in error.context or () for choice in _sub(child).get("enum", ())]
    patterned = any(child.validator in ("pattern", "not") for child in error.context or ())
    yield Finding(
        f"{_name_of(error)} is {quoted(_short(error.instance))}",
        f"expected {_sub(error).get('title') or expected}"
        + _sentence(did_you_mean(str(error.instance), choices)),
        at(marks, pointer(error.absolute_path)),
        code="R008" if patterned and isinstance(error.instance, str) else "R007",
    )


def _name_of(error: ValidationError) -> str:
    """What the error is about: the last key, with the index of what lies in its list: ``"caveats[0]"``."""
    path = list(error.absolute_path)
    indices = ""
    while path and isinstance(path[-1], int):
        indices = f"[{path.pop()}]{indices}"
    return quoted(f"{path[-1]}{indices}") if path else "the file"


def _sentence(question: str) -> str:
    """A full stop before a question that follows a hint."""
    return f".{question}" if question else ""


def _expected(sub: Mapping[str, Any], error: ValidationError) -> str:
    if "title" in sub:
        among = f": {', '.join(map(str, sub['enum']))}" if "enum" in sub else ""
        return f"expected {sub['title']}{among}"
    if "enum" in sub:
        return f"expected one of: {', '.join(map(str, sub['enum']))}"
    if "const" in sub:
        return f"expected {sub['const']}"
    bounds = [
        f"{word} {sub[key]}" for key, word in (("minimum", "at least"), ("maximum", "at most")) if key in sub
    ]
    kind = sub.get("type", "another value")
    if kind == "object" and sub.get("required"):
        return f"expected {{{', '.join(f'{key}: ...' for key in sub['required'])}}}"
    kind = " or ".join(kind) if isinstance(kind, list) else kind
    if error.validator in (
        "minItems",
        "maxItems",
        "uniqueItems",
        "minLength",
        "minProperties",
        "exclusiveMinimum",
    ):
        return f"expected {kind} with {error.validator}: {error.validator_value}"
    return f"expected {kind}" + (", " + ", ".join(bounds) if bounds else "")


def _key_of(finding: Finding) -> str:
    """The key that a finding "key "..." is missing" is about."""
    return finding.message.split('"')[1]


def _keys(value: Any) -> list[str]:
    return list(value)


def _short(value: Any) -> str:
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
