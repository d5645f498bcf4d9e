"""Judging the arguments of a launch command exactly as the engine's argparse would, without the engine.

argparse stops at its first error and exits; :func:`parse` goes on and returns all problems. It accepts a list
of tokens if and only if argparse does (tests/engines/test_parsing.py compares the two on random lists).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zoo.engines.converters import converter, in_words
from zoo.engines.options import Option, Snapshot
from zoo.engines.vllm_tokens import RefusedTokensError, Word, rewritten
from zoo.printable import quoted
from zoo.recipe.validate import did_you_mean

# Kinds of problem. The first group makes argparse refuse the command, the second does not.
REFUSED = frozenset(
    {
        "unknown",  # no such option
        "ambiguous",  # an abbreviation of several names
        "extra",  # a value that belongs to no option
        "choice",  # not among the choices
        "type",  # does not convert
        "missing-value",  # too few values
        "unexpected-value",  # --flag=value for a flag that takes none
        "misplaced",  # vLLM refuses it before argparse looks
        "required",  # a required option is absent (index -1)
        "help",  # -h prints help and exits
    }
)
TOLERATED = frozenset({"abbreviation", "deprecated", "duplicate"})
_NEGATIVE_NUMBER = re.compile(r"^-\d+$|^-\d*\.\d+$")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the token at ``index`` (-1: with the command as a whole).

    ``name`` is the option as it resolved, or as it is spelled where it did not; ``option`` None for unknowns.
    """

    kind: str
    index: int
    message: str
    hint: str
    name: str = ""
    option: Option | None = None

    @property
    def refused(self) -> bool:
        """Whether the engine would not start because of it."""
        return self.kind in REFUSED


@dataclass(frozen=True, slots=True)
class Given:
    """One use of an option: the full ``name`` that its token resolved to, and its raw ``values``.

    A flag's value is what it stores, as JSON spells it: ``("true",)``; that of a ``--no-x``: ``("false",)``.
    """

    option: Option
    name: str
    index: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A command as the engine would read it: every use of an option in order, and what is wrong with it."""

    given: tuple[Given, ...]
    problems: tuple[Problem, ...]

    @property
    def accepted(self) -> bool:
        """Whether argparse would go on."""
        return not any(problem.refused for problem in self.problems)

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Attribute -> raw values; as in argparse the last use wins, and ``append`` options collect."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.given:
            before = found.get(each.option.dest, ()) if each.option.kind == "append" else ()
            found[each.option.dest] = before + each.values
        return found

    def value(self, dest: str) -> str | None:
        """The one raw value of ``dest``; None where it is not given."""
        values = self.values.get(dest)
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class _Token:
    """A token as argparse classes it: "O" (looks like an option), "A" (a value) or "-" (the first ``--``).

    ``matches`` are the names that an "O" may stand for; ``explicit`` is what follows its ``=``.
    """

    mark: str
    text: str
    index: int
    matches: tuple[str, ...] = ()
    explicit: str | None = None


def parse(snapshot: Snapshot, tokens: Sequence[str], *, subcommand: bool = True) -> Parsed:
    """Judge ``tokens``, the arguments after the words of the command (``sglang serve``, ``vllm serve``).

    ``subcommand`` False: they follow ``python -m vllm.entrypoints...``, which reads ``--model`` differently.
    """
    if snapshot.engine == "vllm":
        try:
            words = rewritten(tokens, subcommand=subcommand)
        except RefusedTokensError as error:
            return Parsed((), (Problem("misplaced", error.index, error.message, error.hint),))
    else:
        words = [Word(token, index) for index, token in enumerate(tokens)]
    classed = _classify(snapshot, words)
    given: list[Given] = []
    problems: list[Problem] = []
    free = list(snapshot.positionals)
    position = 0
    while position < len(classed):
        token = classed[position]
        if token.mark == "O":
            position = _option(snapshot, classed, position, given, problems)
            continue
        if token.mark == "A" and free:
            given.append(Given(free[0], free.pop(0).names[0], token.index, (token.text,)))
            if position + 1 < len(classed) and classed[position + 1].mark == "-":
                position += 1  # a -- right after a positional goes with it
        elif token.mark == "A" or not free:
            problems.append(_extra(snapshot, token))
        position += 1
    problems += _repeated(given)
    problems += _absent(snapshot, given)
    return Parsed(tuple(given), tuple(sorted(problems, key=lambda each: each.index)))


def _classify(snapshot: Snapshot, words: list[Word]) -> list[_Token]:
    """Class every word; all after a ``--`` are values."""
    end = next((position for position, word in enumerate(words) if word.text == "--"), len(words))
    head = [_class(snapshot, word) for word in words[:end]]
    dashes = [_Token("-", word.text, word.index) for word in words[end : end + 1]]
    return [*head, *dashes, *(_Token("A", word.text, word.index) for word in words[end + 1 :])]


def _class(snapshot: Snapshot, word: Word) -> _Token:
    """The order of the tests is argparse's (ArgumentParser._parse_optional)."""
    text, index = word.text, word.index
    if not text.startswith("-"):
        return _Token("A", text, index)
    if snapshot.exact(text):
        return _Token("O", text, index, (text,))
    if len(text) == 1:
        return _Token("A", text, index)
    name, equals, explicit = text.partition("=")
    if equals and snapshot.exact(name):
        return _Token("O", text, index, (name,), explicit)
    if text.startswith("--"):
        matches = tuple(found for found, _ in snapshot.candidates(name))
        value = explicit if equals else None
    else:  # -xVALUE, or the start of a name with one dash
        short = tuple(found for found in snapshot.by_name if found == text[:2])
        matches = short + tuple(found for found in snapshot.by_name if found.startswith(text))
        value = text[2:] if short else None
    if matches:
        return _Token("O", text, index, matches, value)
    if _NEGATIVE_NUMBER.match(text) or " " in text:
        return _Token("A", text, index)
    return _Token("O", text, index)


def _option(
    snapshot: Snapshot, classed: list[_Token], position: int, given: list[Given], problems: list[Problem]
) -> int:
    """Judge the option at ``position`` and its values; the position after them."""
    token = classed[position]
    index = token.index
    rest = itertools.takewhile(lambda each: each.mark == "A", classed[position + 1 :])
    following = tuple(each.text for each in rest)
    if len(token.matches) != 1:
        problems.append(_unresolved(snapshot, token))
        return position + 1 + len(following)  # its values are no problem of their own
    name = token.matches[0]
    option = snapshot.by_name[name]
    problems += _notes(snapshot, token, name, option)
    if option.kind == "help":
        message = f"{token.text} prints the help and exits: nothing is served"
        problems.append(Problem("help", index, message, "drop it", name, option))
        return position + 1
    if token.explicit is not None and not option.takes_value:
        message = f"{name} takes no value, and {quoted(token.explicit)} is given"
        problems.append(Problem("unexpected-value", index, message, f"write {name} alone", name, option))
        return position + 1
    available = following if token.explicit is None else (token.explicit,)
    wanted = _count(option, len(available))
    if wanted is None:
        problems.append(_too_few(option, name, index))
        wanted = len(available)
    else:
        values = available[:wanted]
        problems += _judge(option, name, index, values)
        given.append(Given(option, name, index, _stored(option, name, values)))
    return position + 1 + (wanted if token.explicit is None else 0)


def _notes(snapshot: Snapshot, token: _Token, name: str, option: Option) -> list[Problem]:
    """What the engine accepts and a reader should know: an abbreviation, a deprecated flag."""
    problems = []
    short = token.text.partition("=")[0]
    if short != name and not token.text.startswith(name):
        message = (
            f"{quoted(short)} is no flag of {snapshot.title}; it is taken for {name}, which it abbreviates, "
            "until another flag begins like it"
        )
        problems.append(Problem("abbreviation", token.index, message, f"write {name}", name, option))
    if option.deprecated is not None:
        hint = option.deprecated or "drop it before the version that removes it"
        message = f"{name} is deprecated in {snapshot.title}"
        problems.append(Problem("deprecated", token.index, message, hint, name, option))
    return problems


def _count(option: Option, available: int) -> int | None:
    """How many of the ``available`` values the option takes; None if they are too few."""
    if not option.takes_value:
        return 0
    least, most = {
        None: (1, 1),
        "?": (0, 1),
        "*": (0, available),
        "+": (1, available),
    }.get(option.nargs, (option.nargs, option.nargs))  # type: ignore[arg-type]
    return None if available < int(least) else min(int(most), available)


def _judge(option: Option, name: str, index: int, values: tuple[str, ...]) -> list[Problem]:
    """Convert each value and look it up among the choices."""
    problems = []
    for value in values:
        kind = option.type or "str"
        try:
            converted: Any = converter(kind)(value)
        except (TypeError, ValueError):
            message = f"{name} takes {in_words(kind)}, not {quoted(value)}"
            problems.append(Problem("type", index, message, "correct the value", name, option))
            continue
        if option.choices is not None and converted not in option.choices:
            known = ", ".join(str(choice) for choice in option.choices)
            hint = (
                did_you_mean(value, [str(choice) for choice in option.choices]).strip() or f"one of: {known}"
            )
            message = f"{name} does not know {quoted(value)}"
            problems.append(Problem("choice", index, message, hint, name, option))
    return problems


def _stored(option: Option, name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    if option.kind == "toggle":
        return ("false",) if name in option.negative else ("true",)
    if option.kind == "flag":
        stored = True if option.const is None else option.const
        return (str(stored).lower() if isinstance(stored, bool) else str(stored),)
    return values


def _unresolved(snapshot: Snapshot, token: _Token) -> Problem:
    name = token.text.partition("=")[0]
    if token.matches:
        message = f"{quoted(name)} is ambiguous in {snapshot.title}: {', '.join(token.matches)}"
        return Problem("ambiguous", token.index, message, "write the whole name", name)
    hint = did_you_mean(name, snapshot.by_name).strip()
    hint = hint or f"list its flags: zoo engines show {snapshot.engine}=={snapshot.version}"
    return Problem("unknown", token.index, f"{snapshot.title} has no flag {quoted(name)}", hint, name)


def _extra(snapshot: Snapshot, token: _Token) -> Problem:
    message = f"{quoted(token.text)} belongs to no flag of {snapshot.title}"
    hint = "drop it, or quote the value that it is a part of"
    return Problem("extra", token.index, message, hint, token.text)


def _too_few(option: Option, name: str, index: int) -> Problem:
    words = {None: "a value", "+": "at least one value"}
    wanted = words.get(option.nargs) or f"{option.nargs} values"  # type: ignore[arg-type]
    message = f"{name} needs {wanted}"
    hint = "give it; one that begins with a dash must be joined with =" if option.nargs is None else "give it"
    return Problem("missing-value", index, message, hint, name, option)


def _repeated(given: list[Given]) -> list[Problem]:
    problems = []
    seen: dict[str, Given] = {}
    for each in given:
        before = seen.get(each.option.dest)
        if before is not None and each.option.kind != "append":
            verb = "repeats" if before.values == each.values else "overrides"
            message = f"{each.name} {verb} {before.name} before it; the last one wins"
            problems.append(
                Problem("duplicate", each.index, message, "drop one of them", each.name, each.option)
            )
        seen[each.option.dest] = each
    return problems


def _absent(snapshot: Snapshot, given: list[Given]) -> list[Problem]:
    used = {id(each.option) for each in given}
    if any(each.option.dest == "config" for each in given):
        return []  # the file may say it
    return [
        Problem(
            "required", -1, f"{each.names[0]} is required", f"add {each.names[0]} VALUE", each.names[0], each
        )
        for each in snapshot.options
        if each.required and id(each) not in used
    ]
