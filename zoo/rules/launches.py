"""A launch command as the rules see it: one of a recipe's profiles, or one that was found in a text.

A command that was found takes the form of a profile whose every argument is one word, so that rules about
profiles judge it too; its places are lines of the text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from packaging.version import Version

from zoo.engines.credentials import is_literal, is_secret_flag
from zoo.engines.hazards import profile_arguments
from zoo.engines.judge import judge
from zoo.engines.launch import Argument
from zoo.engines.parsing import Given, Parsed
from zoo.recipe.model import Profile, Recipe
from zoo.results import Where

if TYPE_CHECKING:
    from zoo.engines.commands import Command

# Converters that take any text: a variable in such a value hides nothing that could be judged.
_ANY_TEXT = (None, "str", "str_or_none", "optional[str]", "str_or_json")
# "$@", "${EXTRA[@]}": as many words as there are, even in quotes.
_MANY_WORDS = re.compile(r"\$[@*]|\$\{\w+\[[@*]\]")


@dataclass(frozen=True)
class Launch:
    """``said`` are the words after the program; ``command`` is set where it was found in a text."""

    profile: Profile
    said: tuple[Argument, ...]
    command: Command | None = None

    @property
    def program(self) -> tuple[str, ...]:
        return tuple(shlex.split(self.profile.command))

    @cached_property
    def parsed(self) -> Parsed | None:
        """What the engine's argparse says of it; None where no snapshot of the version ships."""
        words = tuple(each.text for each in self.said)
        return judge(self.profile.engine, str(self.profile.version), self.program, words)

    def where(self, index: int) -> Where:
        """The place of word ``index``; of the command as a whole for -1."""
        return self.profile.where(f"/args/{self.said[index].entry}" if index >= 0 else "/args")

    def symbolic(self, index: int) -> bool:
        """Whether only a shell knows what word ``index`` is."""
        words = self.command.arguments if self.command is not None else ()
        return index < len(words) and words[index].symbolic

    def values_at(self, given: Given) -> range:
        """The indices of the values of one use of an option; of its own word where they are joined with =."""
        joined = given.option.positional or "=" in self.said[given.index].text
        if joined or not given.option.takes_value:
            return range(given.index, given.index + 1)
        return range(given.index + 1, given.index + 1 + len(given.values))

    @property
    def hidden_arguments(self) -> tuple[int, ...]:
        """The words that may be any arguments: a variable where a flag may stand, or a file of them."""
        if self.parsed is None:  # as far as one sees without the flags: a word after a flag is its value
            said = [each.text for each in self.said]
            lone = {index + 1 for index, text in enumerate(said) if re.fullmatch(r"--[\w-]+", text)}
            lone |= {index for index, text in enumerate(said) if re.match(r"--[\w-]+=", text)}
        else:
            lone = {index for each in self.parsed.given for index in self._lone_value(each)}
        lone -= {index for index, each in enumerate(self.said) if _MANY_WORDS.search(each.text)}
        files = [index for index, each in enumerate(self.said) if each.text.partition("=")[0] == "--config"]
        variables = [i for i in range(len(self.said)) if self.symbolic(i) and i not in lone]
        return tuple(sorted({*files, *variables}))

    def _lone_value(self, given: Given) -> range:
        """A variable as the one value of a flag is that value, whatever it is."""
        return self.values_at(given) if given.option.nargs in (None, "?") else range(0)

    @property
    def flags_of_variables(self) -> tuple[int, ...]:
        """The flags that have a variable as a value."""
        given = () if self.parsed is None else self.parsed.given
        return tuple(
            each.index for each in given if any(self.symbolic(index) for index in self.values_at(each))
        )

    @property
    def credentials(self) -> Iterator[tuple[int, str]]:
        """The words that are values of flags that take a credential, and the flag. A variable is none."""
        found: dict[int, str] = {}
        for index, each in enumerate(self.said):  # also what the parser stumbles over
            name, joined, _ = each.text.partition("=")
            if is_secret_flag([name]):
                found[index if joined else index + 1] = name
        for given in () if self.parsed is None else self.parsed.given:
            if is_secret_flag(given.option.names):
                found |= dict.fromkeys(self.values_at(given), given.name)
        for index, name in sorted(found.items()):
            text = self.said[index].text if index < len(self.said) else ""
            value = text.partition("=")[2] if text.startswith("--") else text
            if is_literal(value) and not self.symbolic(index):
                yield index, name

    @property
    def hidden_values(self) -> tuple[int, ...]:
        """The flags whose value only a shell knows, although the engine takes not just any."""
        if self.parsed is None:
            return ()
        return tuple(
            each.index
            for each in self.parsed.given
            if (each.option.choices or each.option.known or each.option.type not in _ANY_TEXT)
            and any(self.symbolic(index) for index in self.values_at(each))
        )


def of_recipe(recipe: Recipe) -> Iterator[Launch]:
    """The command of each profile, for the published draft."""
    for profile in recipe.profiles:
        yield Launch(profile, tuple(profile_arguments(recipe, profile)))


def of_command(command: Command, version: str, gpu: str = "") -> Launch:
    """A command that was found, to be judged as ``version`` of its engine on ``gpu`` ("": not said)."""
    marks = {f"/args/{index}": Where(command.file, word.line) for index, word in enumerate(command.arguments)}
    start = Where(command.file, command.line)
    args = tuple(shlex.quote(word.text) for word in command.arguments)
    profile = Profile(
        name=f"command in line {command.line}",
        file=command.file,
        engine=command.engine,
        version=Version(version),
        gpu=gpu,
        gpus=0,
        command=shlex.join(word.text for word in command.program),
        args=args,
        environment={name: word.text for name, word in command.environment},
        image=command.image,
        data={"args": args},
        marks={"": start, "/args": start, **marks},
    )
    said = tuple(Argument(word.text, index) for index, word in enumerate(command.arguments))
    return Launch(profile, said, command)
