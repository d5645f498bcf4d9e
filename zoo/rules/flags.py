"""L rules: a launch command against the flags of its engine version, as its argparse would judge it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zoo.engines.options import snapshot, snapshots
from zoo.engines.parsing import Problem
from zoo.printable import quoted
from zoo.recipe.validate import did_you_mean
from zoo.results import Finding, Severity
from zoo.rules.launches import Launch
from zoo.rules.profiles import label
from zoo.rules.registry import rule
from zoo.rules.subject import Subject

_UNKNOWN = ("unknown", "ambiguous", "extra", "misplaced", "required", "help")
_VALUE = ("choice", "type", "missing-value", "unexpected-value")


@rule("L006", "launch-flag-unknown", needs=("flags",))
def flag_is_unknown(subject: Subject) -> Iterable[Finding]:
    """The engine does not take this argument.

    What it does: looks up every flag as argparse does (its exact name or the one name that it begins) among
    the flags of that engine version; finds values that belong to no flag, and required flags that are
    missing. A flag that was removed or renamed names its replacement.
    Why is this bad: the server prints its usage and stops.
    Example: --speculative-dflash-blocksize 8.
    Use instead: --speculative-dflash-block-size 8.
    Sources: the released wheels (zoo engines show ENGINE==VERSION).
    Since: 0.1.0
    """
    for launch, problem in _problems(subject, *_UNKNOWN):
        guessed = problem.kind in ("unknown", "extra") and launch.symbolic(problem.index)
        absent = problem.kind == "required" and launch.hidden_arguments
        if not guessed and not absent:  # otherwise nobody knows: the gap of the material says so
            yield _finding(launch, problem)


@rule("L007", "launch-value", needs=("values",))
def value_is_refused(subject: Subject) -> Iterable[Finding]:
    """The engine does not take this value of the flag.

    What it does: compares each value with the choices and the type of its flag in that engine version. Tool
    call and reasoning parsers are such choices.
    Why is this bad: the server prints its usage and stops.
    Example: --tool-call-parser kimi_k3 for sglang==0.5.14.
    Use instead: --tool-call-parser kimi_k2.
    Sources: the released wheels (zoo engines show ENGINE==VERSION).
    Since: 0.1.0
    """
    for launch, problem in _problems(subject, *_VALUE):
        if problem.index not in launch.hidden_values:
            yield _finding(launch, problem)
    for launch in subject.values or ():
        yield from _looked_up_later(launch)


def _looked_up_later(launch: Launch) -> Iterator[Finding]:
    """Values that argparse lets pass and the engine looks up afterwards, where no plugin brings others."""
    assert launch.parsed is not None
    given = launch.parsed.values
    if any(name.endswith("_parser_plugin") for name in given):
        return
    for each in launch.parsed.given:
        for value in each.values if each.option.known is not None else ():
            if value not in (each.option.known or ()) and each.index not in launch.hidden_values:
                message = f"{label(launch.profile)}: {each.name} does not know {quoted(value, 80)}"
                hint = (
                    did_you_mean(value, each.option.known).strip() or f"see {each.name} in zoo engines show"
                )
                yield Finding(message, hint, launch.where(each.index))


@rule("L008", "launch-abbreviation", severity=Severity.WARNING, needs=("flags",))
def flag_is_abbreviated(subject: Subject) -> Iterable[Finding]:
    """A flag is the beginning of another one's name.

    What it does: finds flags that are no name of their own, but begin exactly one.
    Why is this bad: argparse takes them, until a version adds a second flag that begins like it: then the
    same command is refused as ambiguous.
    Example: --tp 8 (no flag of SGLang; it is taken for --tp-size).
    Use instead: --tp-size 8.
    Sources: docs.python.org, argparse, allow_abbrev.
    Since: 0.1.0
    """
    yield from (_finding(*each) for each in _problems(subject, "abbreviation"))


@rule("L009", "launch-deprecated", severity=Severity.WARNING, needs=("flags",))
def flag_is_deprecated(subject: Subject) -> Iterable[Finding]:
    """A flag is deprecated in this engine version.

    What it does: finds flags that the engine itself calls deprecated.
    Why is this bad: a later version refuses the command.
    Example: --speculative-dflash-draft-window-size 512 for sglang==0.5.14; 0.5.23 does not know it any more.
    Use instead: --speculative-draft-window-size 512.
    Sources: the released wheels (zoo engines show ENGINE==VERSION).
    Since: 0.1.0
    """
    yield from (_finding(*each) for each in _problems(subject, "deprecated"))


@rule("L010", "launch-flag-twice", severity=Severity.WARNING, needs=("flags",))
def flag_is_given_twice(subject: Subject) -> Iterable[Finding]:
    """A flag is given twice, and only the last one counts.

    What it does: finds two uses of one flag, by whatever names.
    Why is this bad: whoever reads the command sees a value that is not served.
    Example: --tp-size 8 --tensor-parallel-size 4.
    Use instead: --tp-size 4.
    Since: 0.1.0
    """
    yield from (_finding(*each) for each in _problems(subject, "duplicate"))


def _problems(subject: Subject, *kinds: str) -> Iterator[tuple[Launch, Problem]]:
    for launch in subject.flags or ():
        assert launch.parsed is not None
        for problem in launch.parsed.problems:
            if problem.kind in kinds:
                yield launch, problem


def _finding(launch: Launch, problem: Problem) -> Finding:
    message, hint = problem.message, problem.hint
    if problem.kind == "unknown":
        from zoo.engines.renames import rename  # only when a flag is unknown

        elsewhere = _elsewhere(launch, problem.name)
        gone = rename(launch.profile.engine, str(launch.profile.version), problem.name)
        message += f" ({', '.join(elsewhere)} has)" if elsewhere else ""
        hint = gone.advice if gone is not None else hint
    return Finding(f"{label(launch.profile)}: {message}", hint, launch.where(problem.index))


def _elsewhere(launch: Launch, name: str) -> list[str]:
    """The other versions of the engine that have this flag."""
    pairs = [pair for pair in snapshots() if pair[0] == launch.profile.engine]
    known = [each for pair in pairs if (each := snapshot(*pair)) is not None]
    return [each.title for each in known if each.exact(name) is not None]
