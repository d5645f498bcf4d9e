"""``zoo outdated``: what time has left behind."""

from __future__ import annotations

from datetime import date

import click

from zoo.cli.app import App, format_option
from zoo.cli.completion import recipes
from zoo.cli.moment import now_option
from zoo.cli.remote import remote_options
from zoo.recipe.load import recipe_names
from zoo.remote.address import Remote


@click.command("outdated")
@click.argument("name", metavar="NAME", required=False, shell_complete=recipes)
@click.option("--online", is_flag=True, help="Ask the hub for the newest revision of each target.")
@click.option(
    "--days",
    type=click.IntRange(0, 3650),
    default=30,
    show_default=True,
    metavar="N",
    help="Name waivers that end within so many days.",
)
@now_option
@remote_options
@format_option("text", "json", "markdown")
@click.pass_obj
def command(
    app: App,
    name: str | None,
    online: bool,
    days: int,
    now: date | None,
    endpoint: str,
    timeout: float,
    form: str,
) -> int:
    """Show what is no longer the newest: of the recipe NAME, or of all.

    Engine versions of profiles, and what was served with them, that are older than the newest version that
    zoo knows, or that nobody has read; evidence that does not count any more; releases made for another
    revision of the target than the target file has; waivers that end. With --online (or --endpoint), targets
    whose repository has a newer commit than the target file pins.

    It is information: the exit status is 0 whatever is found, and 2 if something that was asked for could not
    be looked at.
    """
    from zoo.outdated import survey
    from zoo.remote.newest import newest_commit

    remote = Remote(endpoint, timeout)
    found = survey(
        app.zoo,
        recipe_names(app.zoo) if name is None else [name],
        today=now or date.today(),
        days=days,
        newest=(lambda repo: newest_commit(repo, remote)) if online or endpoint else None,
    )
    if form == "json":
        app.json(found.as_json())
    elif not found.recipes:
        app.note("This zoo has no recipes. Start one with: zoo init --recipe NAME")
    else:
        from zoo.report.outdated import markdown, render

        app.out(markdown(found) if form == "markdown" else render(found))
    return found.exit_status
