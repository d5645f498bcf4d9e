"""``zoo`` itself: its options, and its verbs, each of which is imported only when it is used."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

import click

from zoo import __version__
from zoo.cli import VERBS
from zoo.cli.app import App

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _Verbs(click.Group):
    """A group that knows its verbs by name and imports a verb's module only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"zoo.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from zoo.recipe.validate import did_you_mean

            hint = did_you_mean(args[0], VERBS) or f" Known: {', '.join(VERBS)}."
            raise click.UsageError(f"no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """click's own would import every verb that begins so, to see whether it is hidden."""
        from click.shell_completion import CompletionItem

        verbs = [
            CompletionItem(verb, help=line) for verb, line in VERBS.items() if verb.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zoo")
@click.option(
    "--zoo",
    "folder",
    metavar="FOLDER",
    envvar="ZOO",
    default=".",
    help="Work on the zoo in (or above) this folder.  [default: .]",
)
@click.pass_context
def zoo(ctx: click.Context, folder: str) -> None:
    """Verify, document and release draft checkpoints for speculative decoding.

    Exit status: 0 all checks ran and found no error; 1 an error was found; 2 a check could not run, or
    wrong usage; 130 interrupted (128 and the number of the signal).
    """
    ctx.obj = App(folder)
    if os.environ.get("NO_COLOR"):  # https://no-color.org
        ctx.color = False
