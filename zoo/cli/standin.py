"""``zoo standin NAME --out DIR``: a checkpoint to try a pipeline with, without the weights."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli.app import App
from zoo.cli.completion import recipes
from zoo.printable import printable
from zoo.recipe.model import UNKNOWN

if TYPE_CHECKING:
    from zoo.recipe.model import Recipe
    from zoo.workspace import Zoo


@click.command("standin")
@click.argument("name", shell_complete=recipes)
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder that does not exist yet, or is empty.",
)
@click.option(
    "--fill",
    type=click.Choice(["sparse", "random"]),
    default="sparse",
    show_default=True,
    help="sparse: zeros that take no disk space; random: seeded normal numbers.",
)
@click.pass_obj
def command(app: App, name: str, out: Path, fill: str) -> None:
    """Write a checkpoint with a recipe's exact inventory and config, without its weights.

    Every document that the recipe declares becomes a placeholder. The weights say in their metadata that
    they are a stand-in, and zoo release --push refuses them.
    """
    from zoo.recipe.load import usable_recipe
    from zoo.standin import Fill, write_standin

    recipe = usable_recipe(app.zoo, name)
    written = write_standin(recipe, out, Fill(fill), _real_draft(app.zoo, recipe))
    for file, size in written.files.items():
        app.out(f"{printable(str(out / file))}  {size:,} bytes")
    app.out(f"stand-in: {written.tensors:,} tensors, {written.nbytes:,} bytes of data ({fill}), not trained")
    app.note(f"next: zoo verify {name} --checkpoint {shlex.quote(printable(str(out)))}")


def _real_draft(zoo: Zoo, recipe: Recipe) -> Path | None:
    """The folder of the recipe's own checkpoint, where there is one with something in it."""
    source = recipe.checkpoint.source
    folder = zoo.root / Path(source).expanduser()
    return folder if source != UNKNOWN and folder.is_dir() and any(folder.iterdir()) else None
