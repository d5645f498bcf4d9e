"""``zoo doctor``: what this machine has, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from zoo.cli.app import App, format_option
from zoo.cli.remote import remote_options
from zoo.printable import printable

if TYPE_CHECKING:
    from zoo.doctor import Checkup


@click.command("doctor")
@click.option("--online", is_flag=True, help="Ask whose the token is, and whether hosts answer.")
@remote_options
@format_option("text", "json")
@click.pass_obj
def command(app: App, online: bool, endpoint: str, timeout: float, form: str) -> int:
    """Look at this machine: packages, extras, git, settings of the zoo, token, hosts, disk and GPUs.

    Nothing is changed, no token is shown, and without --online nothing is contacted. An extra that a gate of
    a recipe needs is a warning: its evidence may come from another machine.

    Exit status: 0 if what is here works; 1 if something is broken: a package that zoo itself needs, settings
    that cannot be read, no way to check the signers of the settings or, with --online, a token that is
    refused or a host that does not answer.
    """
    from zoo.doctor import check

    found = check(app.folder, online=online, endpoint=endpoint, timeout=timeout)
    if form == "json":
        app.json(found.as_json())
    else:
        app.out(_text(found))
    return found.exit_status


def _text(found: Checkup) -> str:
    colours = {"ok": "green", "absent": "cyan", "warning": "yellow", "broken": "red", "not asked": "magenta"}
    lines: list[str] = []
    part = ""
    for item in found.items:
        if item.part != part:
            lines += ([""] if part else []) + [click.style(item.part, bold=True)]
            part = item.part
        label = click.style(f"{item.state:<9}", fg=colours[item.state])
        lines.append(f"  {label}  {printable(f'{item.name}: {item.detail}', keep='')}")
        if item.hint:
            lines.append(f"             -> {printable(item.hint, keep='')}")
    return "\n".join(lines)
