"""``zoo impact``: what another engine version would change for the drafts of this zoo."""

from __future__ import annotations

from typing import Any

import click

from zoo.cli.app import App, format_option
from zoo.engines.impact import Change, changes, parse_range
from zoo.engines.readings.words import TITLES
from zoo.printable import printable
from zoo.recipe.load import load_recipe, recipe_names
from zoo.report.text import place


@click.command("impact")
@click.argument("versions", metavar="ENGINE==OLD..NEW")
@format_option("text", "json")
@click.pass_obj
def command(app: App, versions: str, form: str) -> None:
    """List the drafts of this zoo whose meaning changes between two versions of an engine, and why.

    Compares what the two versions make of each draft that a recipe describes, the hazards of its profiles,
    and the YaRN amplitude. It is information: the exit status is 0 whatever is found.
    """
    engine, old, new = parse_range(versions)
    found: dict[str, tuple[Change, ...]] = {}
    unusable: list[str] = []
    for name in recipe_names(app.zoo):
        recipe = load_recipe(app.zoo, name).recipe
        if recipe is None:
            unusable.append(name)
        else:
            found[name] = changes(recipe, engine, old, new)
    if form == "json":
        app.json(_document((engine, old, new), found, unusable))
        return
    for name, listed in found.items():
        if listed:
            app.out(_text(name, listed))
    unchanged = [name for name, listed in found.items() if not listed]
    span = f"{TITLES[engine]} {old} to {new}"
    if unchanged:
        app.out(f"unchanged from {span}: {', '.join(unchanged)}")
    for name in unusable:
        app.out(f"not compared: {name} cannot be used; see: zoo verify {name}")
    if not found and not unusable:
        app.note("This zoo has no recipes. Start one with: zoo init --recipe NAME")


def _document(
    span: tuple[str, str, str], found: dict[str, tuple[Change, ...]], unusable: list[str]
) -> dict[str, Any]:
    drafts = [
        {"recipe": name, "changes": [each.as_json() for each in listed]} for name, listed in found.items()
    ]
    engine, old, new = span
    return {
        "schema": "zoo-impact/1",
        "engine": engine,
        "from": old,
        "to": new,
        "drafts": drafts,
        "not_compared": unusable,
    }


def _text(name: str, listed: tuple[Change, ...]) -> str:
    lines = [name]
    for change in listed:
        lines.append(f"  {change.message}: {change.before} -> {change.after}")
        lines += [f"    at {place(where)}" for where in change.places]
    return printable("\n".join(lines) + "\n")
