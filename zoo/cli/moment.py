"""``--now``: the day by which something expires, so that it can be tried before it comes."""

from __future__ import annotations

from datetime import date

import click


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date | None:
    """A day as ``2027-03-01``."""
    if value is None:
        return None
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        message = f"{value!r} is not a day; write it like 2027-03-01"
        raise click.BadParameter(message, ctx, param) from error


now_option = click.option(
    "--now", callback=_day, metavar="DATE", help="The day by which waivers expire.  [default: today]"
)
