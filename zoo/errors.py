"""One base error. Each subclass says when it happens; each message ends with what to do next.

A *finding* (``zoo.results``) is a fact about a draft. An *error* is a reason why the tool could not do what
it was asked to. Only ``zoo.cli.main`` turns an error into a message and an exit status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.results import Finding


class ZooError(Exception):
    """Something stopped the command. ``message`` says what and where, ``hint`` what to do next."""

    exit_status = 2

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """As pickle does for other objects: exceptions are made again from ``args``, without the hint."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[ZooError], args: tuple[Any, ...], state: dict[str, Any]) -> ZooError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UsageError(ZooError):
    """The words of the command do not fit together."""


class NotAZooError(ZooError):
    """Neither this folder nor any folder above it holds a zoo."""


class SettingsError(ZooError):
    """``zoo.toml`` or ``[tool.zoo]`` has a value that cannot be used."""


class NoSuchRecipeError(ZooError):
    """The zoo has no recipe, target file or profile of this name."""


class InvalidRecipeError(ZooError):
    """The recipe (or a file that it refers to) contradicts its schema; ``findings`` says where."""

    exit_status = 1

    def __init__(self, name: str, findings: tuple[Finding, ...]) -> None:
        plural = "problem" if len(findings) == 1 else "problems"
        super().__init__(
            f'recipe "{name}" cannot be used: {len(findings)} {plural}',
            hint=f"mend the lines above, then run: zoo verify {name}",
        )
        self.findings = findings


class UnreadableError(ZooError):
    """A file or source is missing, unreachable or not readable, so nothing can be said of its content."""


class TemplateError(ZooError):
    """A card template is wrong, or asks for a value that the recipe and the evidence do not give."""

    exit_status = 1


class CardDriftError(ZooError):
    """The committed card differs from what recipe, evidence and template say (``zoo card --check``)."""

    exit_status = 1


class ReleaseRefusedError(ZooError):
    """A release step found a reason not to publish: a failing gate, other bytes under a version, a
    stand-in."""

    exit_status = 1


class PublishedNotRecordedError(ZooError):
    """A version is visible at the target, and the run stopped before ``release/`` said so; the next run
    records it."""


class TargetUnusableError(ZooError):
    """The publishing target cannot be written to, or answered something that it must not."""
