"""The ``zoo`` command: one small module per verb, imported only when it runs.

Nothing here decides anything about drafts. This is the only place that turns an exception into a message
and an exit status.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

from zoo import __version__
from zoo.cli.app import App

# Verb -> its line in the overview; the module is zoo.cli.VERB. Kept here so that --help imports none of them.
VERBS = {
    "init": "Make a new zoo, or a new recipe.",
    "list": "What is in this zoo.",
    "show": "One recipe: its facts, files and standing.",
    "verify": "Check a draft against its recipe.",
    "launch": "Print the command that serves a draft.",
    "card": "Render the model card, or check it for drift.",
    "release": "Publish a version; without --push, a full dry run.",
    "standin": "Write a checkpoint with a recipe's exact inventory, without its weights.",
    "rule": "Explain a rule, or list all rules.",
}


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
    wrong usage; 130 interrupted.
    """
    ctx.obj = App(folder)
    if os.environ.get("NO_COLOR"):  # https://no-color.org
        ctx.color = False


def main() -> NoReturn:
    """Run the command line. The one place where exceptions become an exit status."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run ``zoo ARGS`` and return its exit status."""
    from zoo.cli.failures import explain

    try:
        result = zoo.main(args=args, prog_name="zoo", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit:  # click's own answer to a reader that went away
        return explain(BrokenPipeError())
    except (Exception, KeyboardInterrupt) as error:
        return explain(error)
    return result if isinstance(result, int) else 0
