"""Launch lint: commands in a text, judged as an engine version takes them. Behind ``zoo launch --check``.

The rules are those of ``zoo verify`` for the profiles of a recipe (the ones that need the material
``profiles`` or ``flags``), on commands in the form of profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from zoo import __version__
from zoo.checkpoint.model import Checkpoint
from zoo.engines.commands import Command, Found
from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.recipe.model import Recipe
from zoo.results import CheckResult, Finding, Outcome, Report, Severity
from zoo.rules import RULES, Absent, Level, Subject, run
from zoo.rules.launches import Launch, of_command

# The longest pages of recipes have some dozens of commands with some dozens of words. More is no document.
_MOST_COMMANDS = 200
_MOST_WORDS = 4000
# Linux hands no longer word to a program (MAX_ARG_STRLEN).
_LONGEST_WORD = 128 * 1024
# Rules whose findings say that an argument is not there, or what its absence means.
_OF_WHAT_IS_ABSENT = frozenset("E002 E003 E030 E031 E035 E037 E039 L004".split())
_HINT = "name it: --engine sglang==VERSION (known versions: zoo engines list)"


def lint(
    found: Found,
    *,
    engines: Sequence[tuple[str, str]] = (),
    recipe: Recipe | None = None,
    draft: Checkpoint | None = None,
    gpu: str = "",
    strict: bool = False,
    severity: Mapping[str, Severity] | None = None,
) -> Report:
    """Judge every command of ``found``.

    A command is judged by every version of its engine in ``engines``; without one, by that of its container
    image or, else, of the first profile of ``recipe`` with this engine. ``recipe`` or ``draft`` is what the
    commands are meant to serve. ``severity``: how much rules matter in the zoo of that recipe.

    Raises:
        UsageError: there is no command, there are too many, or nobody says which version runs one.
    """
    if not found.commands and found.unread:
        line = found.unread[0].line
        what = "may start a server in a way that is not read (eval, a variable, a string)"
        hint = "write the command out, or check it by itself"
        raise UsageError(f"{quoted(found.file)}, line {line} {what}", hint=hint)
    if not found.commands:
        hint = "looked for sglang serve, vllm serve and python -m of their servers, in shell text or fences"
        raise UsageError(f"{quoted(found.file)} has no launch command", hint=hint)
    _refuse_floods(found)
    launches = [
        of_command(command, version, gpu)
        for command in found.commands
        for version in _versions(command, engines, recipe)
    ]
    served = None if recipe is None else replace(recipe, profiles=tuple(each.profile for each in launches))
    subject = Subject(
        recipe=served,
        checkpoint=draft,
        commands=tuple(launches),
        script=found,
        missing={}
        if recipe
        else {"recipe": Absent("no recipe was given; add --recipe NAME", required=False)},
        today=date.today(),
        severity=severity or {},
    )
    results = tuple(_as_known(_as_complete(each, subject), launches) for each in _run(subject))
    return Report("command", _facts(found, launches, recipe), results, strict, f"draft-zoo {__version__}")


def _refuse_floods(found: Found) -> None:
    words = [word.text for command in found.commands for word in (*command.program, *command.arguments)]
    for too_much, what in (
        (len(found.commands) > _MOST_COMMANDS, f"more than {_MOST_COMMANDS} launch commands"),
        (len(words) > _MOST_WORDS, f"launch commands of more than {_MOST_WORDS} words"),
        (any(len(word) > _LONGEST_WORD for word in words), "a word of more than 128 KiB"),
    ):
        if too_much:
            raise UsageError(f"{quoted(found.file)} has {what}", hint="check it in parts")


def _versions(command: Command, engines: Sequence[tuple[str, str]], recipe: Recipe | None) -> Iterable[str]:
    named = [version for engine, version in engines if engine == command.engine]
    if named:
        return named
    if command.version is not None:
        return [command.version]
    pinned = [each.version for each in recipe.profiles if each.engine == command.engine] if recipe else []
    if pinned:
        return [str(pinned[0])]
    raise UsageError(
        f"line {command.line}: nobody says which version of {command.engine} runs it", hint=_HINT
    )


def _run(subject: Subject) -> list[CheckResult]:
    results = run(subject, Level.HEADER, "profiles") + run(subject, Level.HEADER, "flags")
    results += run(subject, Level.HEADER, "values")
    return sorted(results, key=lambda each: each.code)


def _facts(found: Found, launches: Sequence[Launch], recipe: Recipe | None) -> Mapping[str, Any]:
    commands = [
        {
            "line": each.profile.where("").line,
            "engine": f"{each.profile.engine}=={each.profile.version}",
            "image": each.profile.image or None,
        }
        for each in launches
    ]
    named = {} if recipe is None else {"recipe": recipe.name}
    return {"file": found.file, **named, "commands": commands}


def _as_complete(result: CheckResult, subject: Subject) -> CheckResult:
    """``result`` without what is wrong only if a variable beside the command (``$ARGS``) holds nothing: that
    an argument is absent. Findings about the command as a whole are such, and those of some rules."""
    open_places = {
        (each.profile.file, each.where(index).line, each.where(index).pointer)
        for each in subject.commands
        if each.hidden_arguments
        for index in range(-1, len(each.said))
    }
    kept = tuple(
        each
        for each in result.findings
        if each.severity is Severity.NOTE
        or (each.where.file, each.where.line, each.where.pointer) not in open_places
        or (each.where.pointer != "/args" and result.code not in _OF_WHAT_IS_ABSENT)
    )
    gap = subject.gap("profiles")
    if result.findings and not kept and gap is not None:
        return CheckResult(result.code, Outcome.NOT_CHECKED, gap.reason, required=gap.required)
    return replace(result, findings=kept)


def _as_known(result: CheckResult, launches: Sequence[Launch]) -> CheckResult:
    """``result`` without what nobody can know: a value that is a variable may be the right one. Places keep
    their lines and lose the pointers into the form of a profile, which the text does not have."""
    unknown = {
        (each.profile.file, each.where(index).line, each.where(index).pointer)
        for each in launches
        for index in each.flags_of_variables
    }
    if "flags" in RULES[result.code].needs or "values" in RULES[result.code].needs:
        unknown = set()  # these rules look by themselves
    kept = [
        each
        for each in result.findings
        if (each.where.file, each.where.line, each.where.pointer) not in unknown
    ]
    findings = tuple(_plain(each, launches) for each in kept)
    if result.findings and not findings:
        reason = "it depends on the value of a variable, which is only known at start"
        return CheckResult(result.code, Outcome.NOT_CHECKED, reason, required=False)
    return replace(result, findings=findings)


def _plain(finding: Finding, launches: Sequence[Launch]) -> Finding:
    files = {each.profile.file for each in launches}
    places = [
        replace(place, pointer=None) if place.file in files else place
        for place in (finding.where, *finding.related)
    ]
    related = tuple(place for place in places[1:] if place != places[0])
    return replace(finding, where=places[0], related=related)
