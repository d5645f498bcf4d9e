"""What a schema cannot say of recipes, target files and profiles. Each finding carries its code and place."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from datetime import date
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from zoo.drafts.keys import keys_of
from zoo.printable import quoted
from zoo.recipe.model import UNKNOWN
from zoo.recipe.validate import Marks, at, did_you_mean, pointer
from zoo.results import Finding, Where

Data = dict[str, Any]


def of_recipe(name: str, data: Data, marks: Marks) -> list[Finding]:
    """A recipe that its schema accepts: its name, then what each part of it means."""
    parts = (_family, _assumed, _waivers, _caveats, _claims)
    return [*_own_name(name, data, marks), *(found for part in parts for found in part(data, marks))]


def of_reference(name: str, data: Data, marks: Marks) -> list[Finding]:
    """A target file or profile that its schema accepts: its name, its version, its arguments."""
    parts = (_version, _unsplittable)
    return [*_own_name(name, data, marks), *(found for part in parts for found in part(data, marks))]


def _own_name(name: str, data: Data, marks: Marks) -> list[Finding]:
    if data["name"] == name:
        return []
    return [
        Finding(
            f"the file is called {name}.yaml but its name is {quoted(data['name'])}",
            "give both the same name",
            marks["/name"],
            code="R011",
        )
    ]


def todos(data: Data, marks: Marks) -> list[Finding]:
    """What is left as the word TODO, which ``zoo adopt`` writes for what only a person can say."""
    return [
        Finding(f"{name} is still TODO", "write the value", at(marks, pointer(path)), code="R016")
        for path, value in _leaves(data, ())
        if value == "TODO" and (name := ".".join(map(str, path)))
    ]


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _family(data: Data, marks: Marks) -> Iterator[Finding]:
    """The draft section has the parts that its family has: a block size, say."""
    family, draft = data["checkpoint"]["family"], data["draft"]
    keys = keys_of(family)
    places = {} if keys is None else keys.places
    for part, key in (("block_size", "block_size"), ("mask_token", "mask_token_id")):
        if key in places and part not in draft:
            message = f"draft: {part} is missing, which a {family} draft has"
            yield Finding(message, f"add {part}", marks["/draft"], code="R006")
        if key not in places and part in draft:
            message = f"draft.{part}: a {family} draft has no {part.replace('_', ' ')}"
            yield Finding(message, "remove it, or correct the family", marks[f"/draft/{part}"], code="R017")
    if "block_size" in places and draft["aux_layers"]["ids"] == UNKNOWN:
        message = f"draft.aux_layers.ids is unknown, and engines guess the aux layers of a {family} draft"
        where = marks["/draft/aux_layers/ids"]
        yield Finding(message, "write the ids of the training run", where, code="R017")


def _assumed(data: Data, marks: Marks) -> Iterator[Finding]:
    """``draft.assumed`` points at values that are there."""
    for index, each in enumerate(data["draft"].get("assumed", ())):
        if f"/draft{each}" not in marks:
            known = [mark.removeprefix("/draft") for mark in marks if mark.startswith("/draft/")]
            hint = did_you_mean(each, known).strip() or "name a key of draft, e.g. /rope"
            where = marks[f"/draft/assumed/{index}"]
            yield Finding(f"assumed: draft has no {quoted(each)}", hint, where, code="R012")


def _waivers(data: Data, marks: Marks) -> Iterator[Finding]:
    """Waivers end on a day, and cover what can be waived."""
    for index, waiver in enumerate(data.get("waivers", ())):
        try:
            date.fromisoformat(waiver["until"])
        except ValueError:
            where = marks[f"/waivers/{index}/until"]
            yield Finding(f"{waiver['until']} is not a day", "write a real date", where, code="R007")
        if (refusal := _unwaivable(waiver["code"])) is not None:
            where = marks[f"/waivers/{index}/code"]
            message = f"{waiver['code']} cannot be waived: {refusal}"
            yield Finding(message, "mend the cause, or remove the waiver", where, code="R014")


def _caveats(data: Data, marks: Marks) -> Iterator[Finding]:
    """Caveats hold for a range of engine versions that can be read."""
    for index, caveat in enumerate(data.get("caveats", ())):
        applies_to = caveat.get("applies_to", "") if isinstance(caveat, dict) else ""
        try:
            SpecifierSet(applies_to.partition(" ")[2])
        except InvalidSpecifier:
            where = marks[f"/caveats/{index}/applies_to"]
            message = f"{quoted(applies_to)} is not an engine with a version range"
            yield Finding(message, 'write it as "sglang <0.5.20"', where, code="R007")


def _claims(data: Data, marks: Marks) -> Iterator[Finding]:
    """A measured claim has evidence and no text, a reported one no evidence."""
    for index, claim in enumerate(data.get("claims", ())):
        if claim["source"] == "measured" and "text" in claim:
            where = marks[f"/claims/{index}/text"]
            message = f"claim {quoted(claim['metric'])}: a measured value has no text beside its evidence"
            hint = "remove the text, or say it in a claim with source: reported"
            yield Finding(message, hint, where, code="R013")
        if (claim["source"] == "measured") != ("evidence" in claim):
            where = marks[f"/claims/{index}/source"]
            message = f"claim {quoted(claim['metric'])}: only a measured value names its evidence"
            yield Finding(message, "add evidence: NAME, or write source: reported", where, code="R013")


def _unwaivable(code: str) -> str | None:
    """Why findings of ``code`` cannot be waived, or None if they can: warnings, and errors about the base
    draft, an engine's hazard or a launch command, which a person may know better."""
    from zoo.rules import RULES  # the rules need recipes
    from zoo.rules.severity import is_fixed

    if code not in RULES:
        return "there is no such rule"
    if is_fixed(RULES[code]):
        return "it means a broken file, a contradiction or hostile input"
    return None


def _version(data: Data, marks: Marks) -> list[Finding]:
    """A pinned engine version that packaging does not read."""
    try:
        Version(data.get("engine", "").partition("==")[2] or "0")
    except InvalidVersion:
        message = f"{quoted(data['engine'])} is no engine version"
        return [Finding(message, "pin it as sglang==0.5.14", marks["/engine"], code="R007")]
    return []


def _unsplittable(data: Data, marks: Marks) -> list[Finding]:
    """Arguments of a profile that a shell could not split, for a quote that is never closed, or would take
    apart: JSON without quotes around it."""
    lines = {f"/args/{index}": line for index, line in enumerate(data.get("args", ()))}
    found = []
    for place, line in (lines | {"/command": data.get("command", "")}).items():
        where = marks.get(place, Where())
        try:
            tokens = shlex.split(line)
        except ValueError as error:
            message = f"{quoted(line)} is no argument: {str(error).lower()}"
            found.append(Finding(message, "close the quote", where, code="R007"))
            continue
        if any(map(_is_broken_json, tokens)):
            message = f"{quoted(line)}: after the shell's rules {{...}} is no JSON object"
            hint = 'put single quotes around the JSON: --flag \'{"key": "value"}\''
            found.append(Finding(message, hint, where, code="R007"))
    return found


def _is_broken_json(token: str) -> bool:
    """Whether a token of a command begins like a JSON object, and is none. Placeholders begin so, too."""
    value = token.partition("=")[2] if token.startswith("-") else token
    if not value.startswith("{") or value.startswith(("{target}", "{draft}")):
        return False
    try:
        return not isinstance(json.loads(value), dict)
    except ValueError:
        return True
