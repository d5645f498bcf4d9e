"""What every verb has at hand: the zoo, and where output goes. stdout carries the result, stderr the rest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from zoo.workspace import Zoo


class App:
    """The object that click hands to each verb (``@click.pass_obj``)."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    @cached_property
    def zoo(self) -> Zoo:
        """The zoo that the command works on (NotAZooError if there is none)."""
        from zoo.workspace import find_zoo

        return find_zoo(self.folder)

    @staticmethod
    def out(text: str) -> None:
        """Print a result. What comes from outside must have gone through ``zoo.printable``."""
        click.echo(text)

    @staticmethod
    def note(text: str) -> None:
        """Tell the person something that is not the result."""
        click.echo(text, err=True)

    @classmethod
    def say(cls, text: str) -> None:
        """:meth:`note` one line of text from outside."""
        from zoo.printable import printable

        cls.note(printable(text, keep=""))

    def warn_if_yanked(self, spec: str) -> None:
        """:meth:`note` that NAME@VERSION is withdrawn, and why."""
        from zoo.release.events import withdrawn

        name, _, version = spec.partition("@")
        reason = withdrawn(self.zoo, name).get(version)
        if reason is not None:
            self.say(f"warning: {spec} is yanked: {reason}; see: zoo history {name}")

    @staticmethod
    def json(document: Any) -> None:
        from zoo.printable import json_text

        click.echo(json_text(document))

    @staticmethod
    def on_terminal() -> bool:
        return sys.stdout.isatty()


def format_option(*choices: str) -> Callable[[Any], Any]:
    """``--format``, with the first choice as the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="Form of the output.",
    )
