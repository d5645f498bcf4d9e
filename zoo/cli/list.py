"""``zoo list``: what is in this zoo."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal

import click

from zoo.cli.app import App, format_option
from zoo.errors import ReleaseRefusedError, UnreadableError
from zoo.printable import printable
from zoo.recipe.load import load_recipe, recipe_names
from zoo.release.events import marked, released
from zoo.workspace import Zoo


@click.command("list")
@format_option("text", "json", "markdown")
@click.pass_obj
def command(app: App, form: str) -> None:
    """List the recipes of this zoo, with family, target and the versions that were released.

    As Markdown it is a catalogue, e.g. for a README, with links to the cards (zoo list --format markdown).
    """
    rows = [_row(app, name) for name in recipe_names(app.zoo)]
    if form == "json":
        app.json({"schema": "zoo-list/1", "recipes": rows})
    elif form == "markdown":
        app.out(_catalogue(app.zoo, rows))
    elif not rows:
        app.note("This zoo has no recipes. Start one with: zoo init --recipe NAME")
    else:
        _table(rows)


def _row(app: App, name: str) -> dict[str, Any]:
    loaded = load_recipe(app.zoo, name)
    try:
        known = released(app.zoo, name)
    except (UnreadableError, ReleaseRefusedError):
        return {"name": name, "problem": f"damaged release log; see: zoo show {name}", "released": []}
    standing: dict[str, Any] = {"released": list(known)}
    marks = {version: list(each) for version, each in known.items() if each}
    standing |= {"marks": marks} if marks else {}
    if loaded.recipe is None:
        return {
            "name": name,
            "problem": f"{len(loaded.findings)} problems; see: zoo verify {name}",
            **standing,
        }
    recipe = loaded.recipe
    return {
        "name": name,
        "title": recipe.title,
        "version": recipe.version,
        "family": recipe.checkpoint.family,
        "target": recipe.target.name,
        "repo": recipe.repo,
        **standing,
    }


def _catalogue(zoo: Zoo, rows: list[dict[str, Any]]) -> str:
    """A table of all drafts. A name leads to the card of its version, where that is rendered."""
    from zoo.report.markdown import cell_code, table, words

    lines: list[tuple[str, ...]] = []
    for row in rows:
        name, shown = row["name"], words(", ".join(_released(row)) or "nothing yet")
        if "problem" in row:
            lines.append((cell_code(name), "", "", "", words(row["problem"]), shown))
            continue
        card = zoo.release_folder(name, row["version"]) / "README.md"
        linked = f"[{cell_code(name)}]({zoo.shown(card)})" if card.is_file() else cell_code(name)
        cells = (words(row["title"]), row["version"], row["family"], cell_code(row["target"]))
        lines.append((linked, *cells, shown))
    return table(("draft", "title", "version", "family", "target", "released"), lines, len(lines))


def _released(row: dict[str, Any]) -> list[str]:
    """The released versions in words, each with its marks."""
    marks = row.get("marks", {})
    return marked({version: tuple(marks.get(version, ())) for version in row["released"]})


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "version", "family", "target", "released"):
        table.add_column(heading, no_wrap=heading == "name")
    for row in rows:
        shown = printable(", ".join(_released(row)), keep="") or "-"
        if "problem" in row:
            table.add_row(row["name"], "", "", row["problem"], shown)
        else:
            table.add_row(row["name"], row["version"], row["family"], row["target"], shown)
    # In a pipe there is no width to fit into.
    system: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    width = None if sys.stdout.isatty() else 200
    Console(markup=False, highlight=False, width=width, color_system=system).print(table)
