"""``zoo promote NAME@VERSION --alias stable``: point an alias at a version."""

from __future__ import annotations

import click

from zoo.cli.app import App
from zoo.cli.completion import recipes
from zoo.cli.places import places
from zoo.cli.target import limit_option
from zoo.printable import printable


@click.command("promote")
@click.argument("spec", metavar="NAME@VERSION", shell_complete=recipes)
@click.option("--alias", required=True, metavar="ALIAS", help="The name that is to be this version.")
@click.option(
    "--to",
    metavar="dir:PATH|hf|URL",
    help="Only at this place; a server other than the Hub must be typed.  [default: everywhere]",
)
@limit_option
@click.pass_obj
def command(app: App, spec: str, alias: str, to: str | None, limit: float) -> int:
    """Point an alias at a published version, wherever it was published.

    An alias is a branch of the repository on a hub, and an entry of index.json in a folder. Versions never
    move: to roll back, promote the older one. It may be repeated.
    """
    from zoo.release.afterwards import entries_of, promote

    name, version, entries = entries_of(app.zoo, spec)

    def tell(place: str, done: str) -> None:
        app.out(f"{click.style(printable(place, keep=''), bold=True)}: {printable(done, keep='')}")

    promote(app.zoo, name, version, alias, places(app.zoo, name, entries, to, limit, app.say), tell)
    return 0
