"""``docker run`` (or podman, nerdctl): which word is the image, and what it is given to run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.engines.shellwords import Word

_PROGRAMS = ("docker", "podman", "nerdctl")
# The options of ``docker run`` without a value, from its reference page; every other option takes one.
_ALONE = frozenset(
    "--detach --disable-content-trust --help --init --interactive --no-healthcheck --oom-kill-disable "
    "--privileged --publish-all --quiet --read-only --rm --sig-proxy --tty --use-api-socket".split()
)
_ALONE_SHORT = frozenset("ditPq")


@dataclass(frozen=True, slots=True)
class Container:
    """What a container is started with: ``command`` begins with the entrypoint, where one is given."""

    image: Word
    command: tuple[Word, ...]
    environment: tuple[Word, ...]  # NAME=VALUE of -e and --env
    entrypoint: bool


def is_container_program(word: Word) -> bool:
    return word.text.rpartition("/")[2] in _PROGRAMS


def container(words: Sequence[Word]) -> Container | None:
    """The container that these words run, or None where they run none."""
    for index, word in enumerate(words):
        if is_container_program(word):
            rest = [each.text for each in words[index + 1 : index + 3]]
            if rest[:1] == ["run"]:
                return _options(words, index + 2)
            if rest == ["container", "run"]:
                return _options(words, index + 3)
            return None
    return None


def _options(words: Sequence[Word], at: int) -> Container | None:
    """Pass the options that begin at ``at``; None where no image follows."""
    environment: list[Word] = []
    entrypoint: tuple[Word, ...] = ()
    while at < len(words) and words[at].text.startswith("-"):
        name, value, at = _option(words, at)
        if value is None:
            continue
        if name in ("-e", "--env") and "=" in value.text:
            environment.append(value)
        elif name == "--entrypoint":
            entrypoint = (value,)
    while at < len(words) and words[at].split:
        at += 1  # $DOCKER_OPTIONS
    if at >= len(words):
        return None
    command = (*entrypoint, *words[at + 1 :])
    return Container(words[at], command, tuple(environment), bool(entrypoint))


def _option(words: Sequence[Word], at: int) -> tuple[str, Word | None, int]:
    """The option at ``at``, its value, and where the next one begins."""
    word = words[at]
    if word.text.startswith("--"):
        name, equals, value = word.text.partition("=")
        if equals:
            return name, Word(value, word.line, word.symbolic), at + 1
        if name in _ALONE:
            return name, None, at + 1
    else:
        for index, letter in enumerate(word.text[1:], start=2):
            if letter in _ALONE_SHORT:
                continue
            if index < len(word.text):  # -eNAME=VALUE
                return f"-{letter}", Word(word.text[index:], word.line, word.symbolic), at + 1
            name = f"-{letter}"
            break
        else:
            return word.text, None, at + 1
    following = words[at + 1] if at + 1 < len(words) else None
    return name, following, at + 2
