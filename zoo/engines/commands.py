"""Launch commands of SGLang and vLLM in shell scripts, ``docker run`` and the fenced blocks of a README.

:func:`find` reads text and runs nothing. Each :class:`Command` knows the line of each of its words, so that a
finding can point there, and the engine's version where a container image names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from zoo.engines.containers import Container, container, is_container_program
from zoo.engines.markdown import fenced_blocks, looks_like_markdown
from zoo.engines.shellwords import Simple, Text, Word, read

# Module that starts a server -> its engine.
_MODULES = {"sglang.launch_server": "sglang", "vllm.entrypoints.openai.api_server": "vllm"}
_SCRIPT = re.compile(r"(?:^|/)sglang/launch_server\.py$")
_PYTHON = re.compile(r"(?:^|/)python(?:3(?:\.\d+)?)?$")
_TORCHRUN = re.compile(r"(?:^|/)torchrun$")
# Options of Python itself: -u, -um MODULE, -mMODULE; -X and -W take a value.
_MODULE_OPTION = re.compile(r"-[bBdEhiIOPqRsSuvVx]*m(.*)")
_VALUED_OPTION = re.compile(r"-[bBdEhiIOPqRsSuvVx]*[XW]|--check-hash-based-pycs")
# What names a server, in whatever kind of text.
_MENTION = re.compile(
    r"\bsglang[./]launch_server\b|\bvllm\.entrypoints\.openai\.api_server\b|\b(?:sglang|vllm)\s+serve\b"
)
_MOST_OPTIONS = 32  # words between Python and its module: every text has an answer, in one pass over it
_SEARCHES = ("pkill", "pgrep", "grep")  # take a pattern, and start nothing
_SHELL = re.compile(r"(?:^|/)(?:ba|da|z|k)?sh$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# A release as images are tagged: v0.5.14, v0.5.14-cu130, 0.33.0. (25.10-py3 is the date of a vendor's image.)
_TAG = re.compile(r":v?(\d+\.\d+\.\d+(?:\.post\d+|rc\d+)?)(?![\w.])")
_DEPTH = 3  # of shells that are given a command as a string (bash -c)
_ELLIPSES = ("...", "…", "[...]")


@dataclass(frozen=True, slots=True)
class Command:
    """One command that starts a server.

    Attributes:
        engine: ``sglang`` or ``vllm``.
        program: the words up to the first argument, e.g. ``python -m sglang.launch_server``.
        arguments: what the engine's argparse is given.
        file: where it was found, for messages.
        environment: the assignments before it, and those of ``docker -e``.
        image: the container image that it runs in, "" where there is none.
        lost: the flags after it that do not belong to it any more, for want of a backslash.
    """

    engine: str
    program: tuple[Word, ...]
    arguments: tuple[Word, ...]
    file: str
    environment: tuple[tuple[str, Word], ...] = ()
    image: str = ""
    lost: tuple[Word, ...] = ()

    @property
    def line(self) -> int:
        return self.program[0].line

    @property
    def argv(self) -> tuple[str, ...]:
        return tuple(word.text for word in (*self.program, *self.arguments))

    @property
    def version(self) -> str | None:
        """The engine's version as the tag of the image says it."""
        found = _TAG.search(self.image) if self.engine in self.image.rpartition("/")[2] else None
        return found[1] if found else None


@dataclass(frozen=True, slots=True)
class Unread:
    """Words that may start a server in a way that only a shell can read, e.g. eval or $CMD."""

    word: Word


@dataclass(frozen=True, slots=True)
class Found:
    """The commands of the text ``file``. ``assignments`` are the variables that scripts with a command set,
    ``unclosed`` the lines of quotes in them that are never closed, ``unread`` the words that may start a
    server besides."""

    file: str
    commands: tuple[Command, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    unclosed: tuple[int, ...] = ()
    unread: tuple[Word, ...] = ()


def find(text: str, file: str) -> Found:
    """All launch commands of ``text``: a Markdown document, by its name or its fences, or shell text."""
    text = text.removeprefix("\ufeff")  # a byte order mark
    if file.lower().endswith((".md", ".markdown", ".mdx")) or looks_like_markdown(text):
        texts = [read(block.text, block.line) for block in fenced_blocks(text)]
    else:
        texts = [read(text)]
    found = [_of_text(each, file) for each in texts]
    # What stands elsewhere in a document is none of our business.
    return Found(
        file,
        tuple(command for each in found for command in each.commands),
        tuple(assigned for each in found if each.commands for assigned in each.assignments),
        tuple(line for each in found if each.commands for line in each.unclosed),
        tuple(word for each in found for word in each.unread),
    )


def _of_text(text: Text, file: str) -> Found:
    commands: list[Command] = []
    assignments: list[tuple[str, Word]] = []
    unread: list[Word] = []
    for index, simple in enumerate(text.commands):
        read_ones = list(_of_words(simple.words, file, 0))
        here = [each for each in read_ones if isinstance(each, Command)]
        unread += (each.word for each in read_ones if isinstance(each, Unread))
        if here:
            here[-1] = replace(here[-1], lost=_lost(text.commands, index + 1))
            commands += here
        else:
            assignments += _assignments(simple.words)
    return Found(file, tuple(commands), tuple(assignments), text.unclosed, tuple(unread))


def _lost(commands: Sequence[Simple], start: int) -> tuple[Word, ...]:
    """The flags on the lines that follow: a shell takes each for a command of its own."""
    lost: list[Word] = []
    for index in range(start, len(commands)):
        simple = commands[index]
        if not simple.newline or not simple.words[0].text.startswith("--"):
            break
        lost += (word for word in simple.words if word.text.startswith("--"))
    return tuple(lost)


def _assignments(words: Sequence[Word]) -> list[tuple[str, Word]]:
    """``A=1 B=2`` and ``export A=1`` (also declare, local, readonly), when that is all the words say."""
    rest = [word for word in words if word.text not in ("export", "declare", "local", "readonly", "-x")]
    if not all(_ASSIGNMENT.match(word.text) for word in rest):
        return []
    return [_assigned(word) for word in rest]


def _assigned(word: Word) -> tuple[str, Word]:
    name, _, value = word.text.partition("=")
    return name.rstrip("+"), replace(word, text=value)


def _of_words(words: Sequence[Word], file: str, depth: int) -> Iterator[Command | Unread]:
    """The commands that these words start, whatever stands before the program (env, nohup, srun, sudo)."""
    environment = tuple(_assigned(word) for word in words[: _start(words)] if _ASSIGNMENT.match(word.text))
    inside = container(words)
    if inside is not None:
        yield from _of_container(inside, file, depth, environment)
        return
    inner = _string_of_shell(words) if depth < _DEPTH else None
    if inner is not None:
        for simple in read(inner.text, inner.line).commands:
            for each in _of_words(simple.words, file, depth + 1):
                yield _around(each, environment)
        return
    for index in range(len(words)):
        started = _program(words, index)
        if started is not None:
            engine, after = started
            arguments = tuple(_unfold(word) for word in words[after:])
            yield Command(engine, tuple(words[index:after]), arguments, file, environment)
            yield from (Unread(word) for word in words[:index] if _MENTION.search(word.text))
            return
    yield from _unread(words)


def _around(each: Command | Unread, environment: tuple[tuple[str, Word], ...]) -> Command | Unread:
    """A command with the variables that are set around it."""
    if isinstance(each, Unread):
        return each
    return replace(each, environment=(*environment, *each.environment))


def _unread(words: Sequence[Word]) -> Iterator[Unread]:
    """What names a server in words that start none here: a string for eval, a variable with a command in it,
    ``$(...)``, ``python -c``; and ``serve`` of a program that is a variable."""
    if any(word.text.rpartition("/")[2] in _SEARCHES for word in words[:2]):
        return
    for index, word in enumerate(words):
        serves = word.split and index + 1 < len(words) and words[index + 1].text == "serve"
        if serves or _MENTION.search(word.text):
            yield Unread(word)


def _start(words: Sequence[Word]) -> int:
    """Where the first program that is known here stands: a server, a shell or a container."""
    return next(
        (
            index
            for index, word in enumerate(words)
            if _program(words, index) or _SHELL.search(word.text) or is_container_program(word)
        ),
        0,
    )


def _program(words: Sequence[Word], index: int) -> tuple[str, int] | None:
    """The engine that a server is started of at ``index``, and where its arguments begin."""
    text = words[index].text
    following = words[index + 1].text if index + 1 < len(words) else ""
    for engine in ("sglang", "vllm"):
        if text.rpartition("/")[2] == engine and following == "serve":
            return engine, index + 2
    if _TORCHRUN.search(text):
        return _module_of_torchrun(words, index + 1)
    # A variable in the place of Python is Python, if what follows is.
    python = _PYTHON.search(text) or (words[index].symbolic and following.startswith("-"))
    return _module(words, index + 1) if python else None


def _module(words: Sequence[Word], at: int) -> tuple[str, int] | None:
    """The engine that Python is told to run by the options that begin at ``at``."""
    end = min(len(words), at + _MOST_OPTIONS)
    while at < end:
        word = words[at].text
        option = _MODULE_OPTION.fullmatch(word)
        if option:
            at += not option[1]
            module = option[1] or (words[at].text if at < len(words) else "")
            return (_MODULES[module], at + 1) if module in _MODULES else None
        if _SCRIPT.search(word):
            return "sglang", at + 1
        if not word.startswith("-") and not words[at].split:
            return None
        at += 2 if _VALUED_OPTION.fullmatch(word) else 1
    return None


def _module_of_torchrun(words: Sequence[Word], start: int) -> tuple[str, int] | None:
    """The same for torchrun, whose many options are not known here."""
    for at in range(start, min(len(words) - 1, start + _MOST_OPTIONS)):
        if words[at].text in ("-m", "--module") and words[at + 1].text in _MODULES:
            return _MODULES[words[at + 1].text], at + 2
    return None


def _unfold(word: Word) -> Word:
    """An ellipsis in a document stands for arguments that are not said."""
    return replace(word, symbolic=True, split=True) if word.text in _ELLIPSES else word


def _of_container(
    inside: Container, file: str, depth: int, environment: tuple[tuple[str, Word], ...]
) -> Iterator[Command | Unread]:
    around = (*environment, *(_assigned(word) for word in inside.environment))
    found = list(_of_words(inside.command, file, depth + 1) if depth < _DEPTH else _unread(inside.command))
    yield from (Unread(word) for word in inside.environment if _MENTION.search(word.text))
    if not found and "vllm" in inside.image.text.rpartition("/")[2] and not inside.entrypoint:
        # The entrypoint of vLLM's own images is its server: their command is the arguments.
        program = (replace(inside.image, text="vllm"), replace(inside.image, text="serve"))
        found = [Command("vllm", program, tuple(_unfold(word) for word in inside.command), file)]
    for each in found:
        placed = _around(each, around)
        yield replace(placed, image=inside.image.text) if isinstance(placed, Command) else placed


def _string_of_shell(words: Sequence[Word]) -> Word | None:
    """The string that a shell is given to run: ``bash -lc "sglang serve ..."``."""
    for index, word in enumerate(words):
        if not _SHELL.search(word.text):
            continue
        for at in range(index + 1, len(words) - 1):
            if not words[at].text.startswith("-"):
                break
            if re.fullmatch(r"-[a-z]*c", words[at].text):
                return words[at + 1]
    return None
