"""``zoo verify``: check a draft against its recipe, or a folder on its own."""

from __future__ import annotations

from pathlib import Path

import click

from zoo.cli.app import App, format_option
from zoo.errors import UsageError
from zoo.printable import quoted
from zoo.recipe.load import recipe_names
from zoo.rules import Level
from zoo.verify import Verification, verify_recipe, verify_source


@click.command("verify")
@click.argument("name", metavar="NAME|FOLDER", required=False)
@click.option("--checkpoint", metavar="FOLDER", help="Look at this folder, not at the recipe's source.")
@click.option("--base", metavar="FOLDER", help="The base draft, to compare with.")
@click.option("--deep", is_flag=True, help="Read every byte: hashes, NaN and Inf, tensors that are all zero.")
@click.option("--strict", is_flag=True, help="Count warnings as errors.")
@click.option("--all", "everything", is_flag=True, help="Verify every recipe of the zoo.")
@format_option("text", "json")
@click.pass_obj
def command(
    app: App,
    name: str | None,
    checkpoint: str | None,
    base: str | None,
    deep: bool,
    strict: bool,
    everything: bool,
    form: str,
) -> int:
    """Check a draft.

    NAME is a recipe of this zoo; its checkpoint is compared with it. Anything with a slash is a FOLDER,
    which is checked on its own. Reads headers and small files only, unless --deep.
    """
    level = Level.DEEP if deep else Level.HEADER
    for option, value in (("--checkpoint", checkpoint), ("--base", base)):
        if value == "":
            raise UsageError(f"{option} is empty", hint=f"{option} FOLDER; is a variable unset?")
    if everything:
        if name or checkpoint or base:
            raise UsageError("--all takes no name and no folder", hint="zoo verify --all")
        runs = [verify_recipe(app.zoo, each, level=level, strict=strict) for each in recipe_names(app.zoo)]
        if not runs:
            raise UsageError("this zoo has no recipes", hint="write one: zoo init --recipe NAME")
    elif name is None:
        raise UsageError("which draft?", hint="zoo verify NAME, or zoo verify --all; see: zoo list")
    elif "/" in name or name in (".", ".."):
        if checkpoint or base:
            raise UsageError(
                f"{quoted(name)} is already a folder", hint="zoo verify NAME --checkpoint FOLDER"
            )
        if (Path(name) / "zoo.toml").is_file() or (Path(name) / "recipes").is_dir():
            hint = "zoo verify NAME or zoo verify --all inside it; see: zoo list"
            raise UsageError(f"{quoted(name)} is a zoo, not a checkpoint", hint=hint)
        if name.endswith((".yaml", ".yml")) and Path(name).is_file():
            hint = f"name the recipe: zoo verify {Path(name).stem}"
            raise UsageError(f"{quoted(name)} is a file", hint=hint)
        runs = [verify_source(name, level=level, strict=strict)]
    else:
        if "@" in name:
            hint = "verify the recipe, or the folder that was published"
            raise UsageError(f"{quoted(name)}: releases cannot be named yet", hint=hint)
        if Path(name).is_dir() and name not in recipe_names(app.zoo):
            raise UsageError(
                f"there is no recipe {quoted(name)}, but a folder",
                hint=f"for the folder: zoo verify ./{name}",
            )
        runs = [verify_recipe(app.zoo, name, checkpoint=checkpoint, base=base, level=level, strict=strict)]
    _show(app, runs, form, everything)
    statuses = {run.report.exit_status for run in runs}
    return 1 if 1 in statuses else max(statuses)


def _show(app: App, runs: list[Verification], form: str, everything: bool) -> None:
    if form == "json":
        documents = [run.report.as_json() for run in runs]
        many = {"schema": "zoo-reports/1", "reports": documents}
        app.json(many if everything else documents[0])
        return
    from zoo.report.text import render

    for index, run in enumerate(runs):
        if len(runs) > 1:
            app.out(("\n" if index else "") + f"== {run.report.subject.get('recipe')}")
        app.out(render(run.report))
