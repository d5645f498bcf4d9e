"""``zoo card NAME --push``: the card on main of a hub, and nothing else."""

from __future__ import annotations

import click

from zoo.cli.app import App
from zoo.cli.places import hub_place, is_hub, spec_of
from zoo.errors import UsageError
from zoo.printable import printable, quoted
from zoo.recipe.model import Recipe


def push_card(app: App, recipe: Recipe, card: str, to: str | None, limit: float) -> None:
    """Put ``card`` on main of every hub that the recipe's version was published to, or of the one that ``to``
    names."""
    from zoo.release import afterwards

    first = f"publish it first: zoo release {recipe.name} --push --to hf"
    name, version, entries = afterwards.entries_of(app.zoo, f"{recipe.name}@{recipe.version}", first)
    wanted = None if to is None else _hub_named(app, recipe, to)
    hubs = [each for each in entries if is_hub(each.target) and wanted in (None, each.target)]
    if not hubs:
        where = " and ".join(quoted(each.target) for each in entries)
        raise UsageError(
            f"{name} {version} was published at {where}, and only on a hub can a card change",
            hint="a version in a folder keeps its card; raise version: in the recipe and release that",
        )
    chosen = [hub_place(app.zoo, name, entry, to or "", limit, app.say) for entry in hubs]
    for place in chosen:
        afterwards.push_card(app.zoo, name, card, place, lambda where, done: _tell(app, where, done))


def push_successor(app: App, recipe: Recipe, old: str, to: str | None, limit: float) -> None:
    """Let the card of ``old``, where earlier versions were published, name the recipe's repository."""
    from zoo.release import afterwards

    zoo, name = app.zoo, recipe.name
    if old == recipe.repo:
        raise UsageError(
            f"{quoted(old)} is where the recipe publishes", hint="name the repository of earlier versions"
        )
    target = _hub_named(app, recipe, to or "hf")
    # The banner must lead somewhere: the recipe's version is there already.
    afterwards.entry_in(zoo, name, recipe.repo, target)
    place = hub_place(zoo, name, afterwards.entry_in(zoo, name, old, target), to or "", limit, app.say)
    afterwards.supersede(zoo, name, old, recipe.repo, place, lambda where, done: _tell(app, where, done))


def _hub_named(app: App, recipe: Recipe, to: str) -> str:
    if not is_hub(to):
        raise UsageError(f"{quoted(to)} is no hub, and only there can a card change", hint="use --to hf|URL")
    return spec_of(app.zoo, recipe.name, to)


def _tell(app: App, place: str, done: str) -> None:
    app.out(f"{click.style(printable(place, keep=''), bold=True)}: {printable(done, keep='')}")
