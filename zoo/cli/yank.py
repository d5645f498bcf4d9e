"""``zoo yank NAME@VERSION``: withdraw a version. Its bytes and its tag stay."""

from __future__ import annotations

import click

from zoo.cli.app import App
from zoo.cli.completion import recipes
from zoo.cli.places import places
from zoo.cli.target import limit_option
from zoo.errors import UsageError
from zoo.printable import printable


@click.command("yank")
@click.argument("spec", metavar="NAME@VERSION", shell_complete=recipes)
@click.option("--reason", default="", metavar="TEXT", help="What is wrong with it, in one line.")
@click.option("--push", is_flag=True, help="Say so where it was published, too.")
@click.option(
    "--to",
    metavar="dir:PATH|hf|URL",
    help="Only at this place; a server other than the Hub must be typed.  [default: everywhere]",
)
@limit_option
@click.pass_obj
def command(app: App, spec: str, reason: str, push: bool, to: str | None, limit: float) -> int:
    """Withdraw a version: pull and verify warn about it, and it can be neither released nor promoted again.

    With --push, the index of a folder says so, and on a hub the card on main does, by a commit of README.md
    alone. Bytes, tags and commits stay: whoever depends on them is not broken. It may be repeated.
    """
    from zoo.release.afterwards import entries_of, yank
    from zoo.release.events import aliases

    if to is not None and not push:
        raise UsageError("--to says where to push", hint="add --push, or leave --to out")
    name, version, entries = entries_of(app.zoo, spec)
    where = places(app.zoo, name, entries, to, limit, app.say) if push else []

    def tell(place: str, done: str) -> None:
        app.out(f"{click.style(printable(place, keep=''), bold=True)}: {printable(done, keep='')}")

    yank(app.zoo, name, version, reason.strip(), where, tell)
    if not push:
        app.note(f"not said yet where it was published; to do that: zoo yank {name}@{version} --push")
    for (target, alias), event in aliases(app.zoo, name).items():
        if event.version == version:
            app.note(
                f"{alias} at {printable(target, keep='')} still is {version}; to move it: "
                f"zoo promote {name}@OTHER --alias {alias}"
            )
    return 0
